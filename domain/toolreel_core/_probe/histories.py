"""Conversations that a probe sends: turns with calls and results, in the forms that servers differ in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._jsontext import Json, Tree, as_tree, items_of
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.tools import LOOKUP, RED, entry

Content: TypeAlias = Literal["empty", "null", "omit", "space"]
"""What accompanies a call; the words of the provider's setting ``tool_turn_content``."""

NINE: Final = "a1B2c3D4e"
"""An id that all servers take: nine letters and digits (Mistral, nearai/ironclaw#1241)."""
LONG: Final = "call_0123456789abcdefghijklmn"
"""An id in OpenAI's form."""

_BY_QUESTION: Final[dict[str, Content]] = {
    "content_null": "null",
    "content_absent": "omit",
    "content_space": "space",
}
# What Google documents for a history that was not its own.
_SIGNATURE: Final[Tree] = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def user(text: str) -> Tree:
    """A message of the user."""
    return {"role": "user", "content": text}


def content_of(known: Known) -> Content:
    """The content next to a call that was taken."""
    return _BY_QUESTION.get(known.tool_turn, "empty")


def tool_turn(
    known: Known,
    *,
    content: Content | None = None,
    call_id: str = NINE,
    reasoning: str = "",
    signature: bool = False,
    name: bool = False,
    result: Json = '{"value":42}',
) -> tuple[Tree, ...]:
    """A question of the user, a call, and its result, in the form that was taken so far."""
    call: Tree = {
        "id": call_id,
        "type": "function",
        "function": {"name": LOOKUP.name, "arguments": '{"key":"alpha"}'},
        **({"extra_content": _SIGNATURE} if signature or known.needs("signature") else {}),
    }
    said: Tree = {
        "role": "assistant",
        **beside_call(content or content_of(known)),
        **({"reasoning_content": reasoning or " "} if reasoning or known.needs("reasoning") else {}),
        "tool_calls": [call],
    }
    answer: Tree = {
        "role": "tool",
        "tool_call_id": call_id,
        "content": result,
        **({"name": LOOKUP.name} if name or known.needs("name") else {}),
    }
    return user("What is stored under alpha? Look it up, then answer in one word."), said, answer


def beside_call(content: Content) -> Tree:
    """The content next to a call."""
    match content:
        case "empty":
            return {"content": ""}
        case "null":
            return {"content": None}
        case "omit":
            return {}
        case "space":
            return {"content": " "}
        case _:
            assert_never(content)


def own_turn(known: Known) -> tuple[Tree, ...]:
    """The model's own call, unchanged, and a result for each of its calls."""
    calls = map(as_tree, items_of(known.own_call, "tool_calls"))
    results: list[Tree] = [
        {"role": "tool", "tool_call_id": call.get("id"), "content": '{"value":42}'} for call in calls
    ]
    return user("Call lookup with the key alpha."), known.own_call, *results


def pictured(text: str) -> Sequence[Json]:
    """Parts with a red square."""
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": RED}}]


Body: TypeAlias = Callable[[Known], Tree]


def asking(*messages: Tree, limit: int = 16, **more: Json) -> Body:
    """The body of a question whose messages are fixed."""
    return lambda known: {"messages": [*messages], **known.options(limit), **more}


def offering(text: str, *tools: Tree, limit: int = 96, **more: Json) -> Body:
    """The body of a question with tools."""
    return asking(user(text), limit=limit, tools=[*tools], **more)


def continuing(history: Callable[[Known], tuple[Tree, ...]]) -> Body:
    """The body of a question about a history with a call."""
    return lambda known: {
        "messages": [*history(known)],
        **known.options(24),
        "tools": [entry(LOOKUP)],
    }
