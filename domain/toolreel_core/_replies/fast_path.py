"""Fast path for ordinary replies: one choice as OpenAI documents it, with calls or with text.

A reply is accepted only if all of its fields are known and have their documented types, so no repair is
written here a second time. Everything else is left to ``normalize``; a property test proves that both read
an accepted reply alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from toolreel_core._internal.fast_constructor import maker
from toolreel_core._jsontext.canonical import (
    MAX_DEPTH,
    NOTHING,
    Json,
    JsonText,
    canonical_object,
    plain_object,
)
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.classification import Finish, problem_of
from toolreel_core._replies.content import visible
from toolreel_core._replies.reply import Reply, Usage, served_in, usage_in
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._text_calls.dialects import MARKED
from toolreel_core._text_calls.unread_calls import may_hide_something

_OF_BODY: Final = frozenset(
    {
        "choices",
        "created",
        "id",
        "kv_transfer_params",
        "model",
        "object",
        "prompt_logprobs",
        "prompt_token_ids",
        "provider",
        "service_tier",
        "system_fingerprint",
        "timings",
        "usage",
        "x_groq",
    }
)
_OF_CHOICE: Final = frozenset(
    {
        "finish_reason",
        "index",
        "logprobs",
        "message",
        "native_finish_reason",
        "stop_reason",
        "token_ids",
    }
)
_OF_MESSAGE: Final = frozenset({"annotations", "audio", "content", "refusal", "role", "tool_calls"})
"""The fields that are read, and known fields that are not needed; other fields of a message may be null."""
_NO_CALLS: Final[tuple[Json, ...]] = (None, [])

_MARKED: Final = frozenset(MARKED)
_NO_USAGE: Final = Usage()
_reply: Final = maker(Reply)


def ordinary_reply(text: str, known: Collection[str], config: LoopConfig) -> Reply | None:
    """The reply in an ordinary body; ``None`` for any other.

    >>> body = '{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}'
    >>> ordinary_reply(body, (), LoopConfig()).content
    'Hi.'
    >>> ordinary_reply("<html>", (), LoopConfig())
    """
    body = plain_object(text, max_depth=MAX_DEPTH)
    choice = None if body is None else _only_choice(body)
    message = None if choice is None else _message(choice)
    if body is None or choice is None or message is None:
        return None
    content, listed = message.get("content"), message.get("tool_calls")
    content = "" if content is None else content
    calls = ordinary_calls(listed, known, config.max_argument_depth) if listed else ()
    finish: Finish = "tool_calls" if calls else "stop"
    if calls is None or not isinstance(content, str) or choice.get("finish_reason") != finish:
        return None
    if not calls and (listed not in _NO_CALLS or not content or content.isspace()):
        return None
    # Only calls of the bare dialects may be plain text.
    if not calls and not _MARKED.issuperset(config.text_dialects):
        return None
    if may_hide_something(content, known, has_calls=bool(calls), is_read=bool(config.text_dialects)):
        return None
    # An ordinary body has its counts under "usage" only; 39 calls are saved where it reports none.
    usage = usage_in(body) if body.get("usage") is not None else _NO_USAGE
    return _reply(calls, visible(content), "", finish, None, (), usage, served_in(body), NOTHING, False)


def _only_choice(body: Mapping[str, Json]) -> Mapping[str, Json] | None:
    choices = body.get("choices")
    if not _OF_BODY.issuperset(body) or not isinstance(choices, list) or len(choices) != 1:
        return None
    choice: Json = choices[0]
    if not isinstance(choice, dict) or not _OF_CHOICE.issuperset(choice):
        return None
    native = choice.get("native_finish_reason")
    return None if native is not None and problem_of(native) else choice


def _message(choice: Mapping[str, Json]) -> Mapping[str, Json] | None:
    message = choice.get("message")
    if (
        not isinstance(message, dict)
        or message.get("role") != "assistant"
        or message.get("refusal") is not None
    ):
        return None
    further = not _OF_MESSAGE.issuperset(message) and message.keys() - _OF_MESSAGE
    return None if further and any(message[key] is not None for key in further) else message


_ENTRY: Final = frozenset({"function", "id", "index", "type"})
_FUNCTION: Final = frozenset({"arguments", "name"})
_WRAPPERS: Final = frozenset({"args", "arguments", "input", "parameters"})
"""Keys of arguments that may wrap a whole call."""


def ordinary_calls(listed: Json, known: Collection[str], max_depth: int) -> tuple[ToolCall, ...] | None:
    """The calls in ``tool_calls`` if all of them are ordinary; else ``None``.

    >>> entry = {"id": "call_a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    >>> ordinary_calls([entry], {"ping"}, max_depth=64)[0].id
    'call_a'
    >>> ordinary_calls([entry], {"pong"}, max_depth=64)
    """
    if not isinstance(listed, list):
        return None
    calls: list[ToolCall] = []
    for entry in listed:
        call = _call(entry, known, max_depth)
        if call is None:
            return None
        calls.append(call)
    distinct = len(calls) < 2 or len({call.id for call in calls}) == len(calls)
    return tuple(calls) if distinct else None


def _call(entry: Json, known: Collection[str], max_depth: int) -> ToolCall | None:
    if not isinstance(entry, dict) or not _ENTRY.issuperset(entry):
        return None
    identity, function = entry.get("id"), entry.get("function")
    if not isinstance(function, dict) or not _FUNCTION.issuperset(function):
        return None
    name, text = function.get("name"), function.get("arguments")
    if not isinstance(identity, str) or not isinstance(name, str) or not isinstance(text, str):
        return None
    arguments = _arguments(text, max_depth) if name in known and identity.strip() else None
    if arguments is None:
        return None
    original = arguments if text == arguments else text
    return ToolCall(identity, name, arguments, original, "structured", NOTHING)


def _arguments(text: str, max_depth: int) -> JsonText | None:
    tree = plain_object(text, max_depth=max_depth)
    # A key with markup in it or called "arguments" needs the full reader, which reports both.
    if tree is None or "<" in "".join(tree) or not _WRAPPERS.isdisjoint(tree):
        return None
    return canonical_object(text, tree)
