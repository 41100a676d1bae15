"""Wire shapes: how servers write the calls of a reply, as documented and as it is seen in the wild.

Where each was seen stands with the shapes of the conformance suite, ``benchmarks/conformance/shapes``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolreel_core._jsontext import Json

__all__ = ["SHAPES", "Asked", "Reply", "Shape", "spoken"]

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that the scripted model wants to make."""

    id: str
    name: str
    arguments: Mapping[str, Json]

    @property
    def text(self) -> str:
        """The arguments as documented: JSON, as text."""
        return json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of the server."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Shape:
    """One way of writing calls."""

    about: str
    write: Callable[[Sequence[Asked]], Reply]
    several: bool = True
    """Whether one reply can hold several calls."""


def spoken(text: str) -> Reply:
    """A reply in words, the same in all shapes."""
    return _completion({"role": "assistant", "content": text}, "stop")


def _completion(message: Message, finish: str = "tool_calls") -> Reply:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Reply(json.dumps({**_HEAD, "object": "chat.completion", "choices": [choice]}).encode())


_HEAD = {"id": "chatcmpl-1", "created": 1764000000, "model": "scripted"}


def _entries(asked: Sequence[Asked], arguments: Callable[[Asked], object]) -> list[Message]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}
        for call in asked
    ]


def _with_arguments(arguments: Callable[[Asked], object]) -> Callable[[Sequence[Asked]], Reply]:
    """Documented in all but the arguments."""
    return lambda asked: _called(_entries(asked, arguments))


def _called(calls: object) -> Reply:
    return _completion({"role": "assistant", "content": None, "tool_calls": calls})


def _text(call: Asked) -> str:
    return call.text


def _function_call(asked: Sequence[Asked]) -> Reply:
    [call] = asked
    function = {"name": call.name, "arguments": call.text}
    return _completion({"role": "assistant", "content": None, "function_call": function}, "function_call")


def _calls_object(asked: Sequence[Asked]) -> Reply:
    entries = _entries(asked, _text)
    return _called(entries[0] if len(entries) == 1 else {str(at): entry for at, entry in enumerate(entries)})


def _ids_missing(asked: Sequence[Asked]) -> Reply:
    return _called([{"type": "function", "function": entry["function"]} for entry in _entries(asked, _text)])


def _ids_same(asked: Sequence[Asked]) -> Reply:
    return _called([{**entry, "id": "call_0"} for entry in _entries(asked, _text)])


def _content_parts(asked: Sequence[Asked]) -> Reply:
    parts = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in asked
    ]
    return _completion({"role": "assistant", "content": parts}, "tool_use")


def _text_tags(asked: Sequence[Asked]) -> Reply:
    calls = ({"name": call.name, "arguments": call.arguments} for call in asked)
    text = "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
    return _completion({"role": "assistant", "content": text}, "stop")


def _stream(asked: Sequence[Asked]) -> Reply:
    frames = [
        json.dumps({**_HEAD, "object": "chat.completion.chunk", "choices": [one]}) for one in _deltas(asked)
    ]
    events = "".join(f"data: {frame}\n\n" for frame in (*frames, "[DONE]"))
    return Reply(events.encode(), "text/event-stream")


def _deltas(asked: Sequence[Asked]) -> Iterator[Message]:
    """The choices of a stream: each call's head, then its arguments in three pieces."""
    yield {"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}
    for index, call in enumerate(asked):
        head = {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        third = len(call.text) // 3
        pieces = (call.text[:third], call.text[third : 2 * third], call.text[2 * third :])
        rest = ({"index": index, "function": {"arguments": piece}} for piece in pieces)
        for part in (head, *rest):
            yield {"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}
    yield {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


SHAPES: Mapping[str, Shape] = {
    "canonical": Shape("as documented", _with_arguments(_text)),
    "function-call": Shape("the old `function_call`, one a reply", _function_call, several=False),
    "calls-object": Shape("`tool_calls` is an object: the call, or calls by index", _calls_object),
    "ids-missing": Shape("calls have no id", _ids_missing),
    "ids-same": Shape("every call of the conversation has the same id", _ids_same),
    "arguments-object": Shape("arguments are an object", _with_arguments(lambda call: call.arguments)),
    "arguments-twice": Shape(
        "arguments are encoded twice", _with_arguments(lambda call: json.dumps(call.text))
    ),
    "arguments-fenced": Shape(
        "arguments are in a code fence", _with_arguments(lambda call: f"```json\n{call.text}\n```")
    ),
    "content-parts": Shape("calls are `tool_use` parts of the content", _content_parts),
    "text-tags": Shape("calls are in the text, in `<tool_call>` tags", _text_tags),
    "stream": Shape("a stream of pieces, though none was asked for", _stream),
}
"""The documented shape, and the ten that drift from it."""
