"""The rules of strict providers: why a request would be refused.

Each rule stands with the provider that keeps it. A loop whose next request breaks one gets the
answer that it would get there, HTTP 400, so that what it stored counts as well as what it ran.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks.conformance.shape import Ids, Shape, subset

__all__ = ["Message", "refusals"]

Message: TypeAlias = Mapping[str, object]

_ROLES = ("system", "developer", "user", "assistant", "tool")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ALNUM9 = re.compile(r"[a-zA-Z0-9]{9}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LONGEST_ID = 64
_SIGNED_ID = 4096
"""A proxy that keeps a thought signature in the id takes its own ids back (BerriAI/litellm#16895)."""


def refusals(body: Mapping[str, object], shape: Shape) -> tuple[str, ...]:
    """Everything that a strict server has against a request."""
    messages = [message for message in _list(body.get("messages")) if isinstance(message, Mapping)]
    found = [
        *_lone_surrogates(body),
        *(why for message in messages for why in _message(message, shape.ids)),
        *_pairing(messages),
        *_unique(messages, shape.ids),
        *_back(messages, shape),
    ]
    return tuple(dict.fromkeys(found))


def _lone_surrogates(body: Mapping[str, object]) -> Iterator[str]:
    """OpenAI and Anthropic refuse half a UTF-16 pair (anthropics/claude-code#68325)."""
    if _SURROGATE.search(json.dumps(body, ensure_ascii=False)):
        yield "the request holds a lone surrogate, which is no valid UTF-8"


def _message(message: Message, ids: Ids) -> Iterator[str]:
    role = message.get("role")
    if role not in _ROLES:
        yield f"role {role!r} does not exist"
    elif role == "assistant":
        yield from _assistant(message, ids)
    elif role == "tool":
        if not isinstance(message.get("content"), str | list):
            yield "a tool message without content"
    elif not message.get("content"):
        yield f"a {role} message without content"


def _assistant(message: Message, ids: Ids) -> Iterator[str]:
    calls = message.get("tool_calls")
    if "tool_calls" in message and calls is not None and not calls:
        yield "tool_calls is an empty list (OpenAI: expected an array with minimum length 1)"
    if not calls and not _text(message.get("content")):
        yield "an assistant message with neither content nor tool calls (DeepSeek, Mistral)"
    for call in _list(calls):
        yield from _call(call, ids) if isinstance(call, Mapping) else ["a tool call is no object"]


def _call(call: Mapping[str, object], ids: Ids) -> Iterator[str]:
    identity, function = call.get("id"), call.get("function")
    longest = _LONGEST_ID if ids != "long" else _SIGNED_ID
    if not isinstance(identity, str) or not 0 < len(identity) <= longest:
        yield f"call id {identity!r}: expected 1 to {longest} characters (OpenAI)"
    elif ids == "alnum9" and not _ALNUM9.fullmatch(identity):
        yield f"call id {identity!r}: must be a-z, A-Z, 0-9, with a length of 9 (Mistral)"
    if call.get("type") != "function":
        yield f"call type {call.get('type')!r}: expected 'function' (OpenAI)"
    if not isinstance(function, Mapping):
        yield "a tool call without its function"
        return
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"function name {name!r}: does not match ^[a-zA-Z0-9_-]{{1,64}}$ (OpenAI)"
    if not _is_object(arguments):
        yield f"arguments {arguments!r:.80}: expected the text of a JSON object (llama.cpp, vLLM)"


def _is_object(arguments: object) -> bool:
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments, parse_constant=_refuse_constant), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    """Every call has one result, right after it; every result has its call (OpenAI)."""
    open_ids: list[object] = []
    for message in messages:
        if message.get("role") == "tool":
            identity = message.get("tool_call_id")
            if identity in open_ids:
                open_ids.remove(identity)
            else:
                yield f"a tool message with tool_call_id {identity!r}, which no open call has"
            continue
        if open_ids:
            yield f"no tool message answers the calls {open_ids!r}"
        calls = [call for call in _list(message.get("tool_calls")) if isinstance(call, Mapping)]
        open_ids = [call.get("id") for call in calls]
        if len(set(map(repr, open_ids))) < len(open_ids):
            yield f"two calls of one message have the same id: {open_ids!r}"
    if open_ids:
        yield f"no tool message answers the calls {open_ids!r}"


def _unique(messages: Sequence[Message], ids: Ids) -> Iterator[str]:
    if ids != "unique":
        return
    seen: set[str] = set()
    for message in messages:
        for call in _list(message.get("tool_calls")):
            identity = repr(call.get("id")) if isinstance(call, Mapping) else ""
            if identity in seen:
                yield f"call id {identity} was used before in the conversation"
            seen.add(identity)


def _back(messages: Sequence[Message], shape: Shape) -> Iterator[str]:
    """What this server wants back unchanged on the message with the calls."""
    if shape.back is None:
        return
    with_calls = [message for message in messages if message.get("tool_calls")]
    if with_calls and not subset(shape.back, with_calls[0]):
        yield f"the assistant message must come back with {json.dumps(shape.back)}"


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    return "".join(str(part) for part in _list(content))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
