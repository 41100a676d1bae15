"""Messages in the form of Inspect's logs (EvalLog, version 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    shown_content,
    wire_tree,
)
from toolreel_core._jsontext import NOTHING, Json, Tree, parse, read

LOG_VERSION: Final = 2
STOP_REASONS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
"""What Inspect calls the reasons for which a reply ended."""


def inspect_message(message: Message) -> Tree:
    """A message in Inspect's form; of pictures and files it has their description."""
    content = shown_content(message)
    match message:
        case AssistantMessage():
            calls: list[Json] = [
                {
                    "id": call.id,
                    "function": call.name,
                    "arguments": _arguments(call.arguments),
                    "type": "function",
                }
                for call in message.calls
            ]
            called: Tree = {"tool_calls": calls} if calls else {}
            extras: Tree = (
                {} if message.extras == NOTHING else {"metadata": {"extras": parse(message.extras)}}
            )
            return {"role": "assistant", "content": content, "source": "generate", **called, **extras}
        case ToolMessage():
            named: Tree = {"function": message.name} if message.name else {}
            return {"role": "tool", "content": content, "tool_call_id": message.call_id, **named}
        case SystemMessage() | UserMessage():
            return {"role": wire_tree(message)["role"], "content": content, "source": "input"}
        case _:
            assert_never(message)


def _arguments(text: str) -> Tree:
    tree = read(text).value_or({})
    return tree if isinstance(tree, Mapping) else {"value": tree}
