"""Shapes as bytes on the wire: a body for a client that asked for one, events for one that streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.conformance.shape import Ending, Shape

__all__ = ["FINAL", "Answer", "final_answer", "first_answer", "message_answer", "refusal"]

FINAL = "The harbour log is complete."
"""The text that ends every run in which nothing went wrong."""

_USAGE = {"prompt_tokens": 41, "completion_tokens": 17, "total_tokens": 58}
_SSE = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Answer:
    """One response of the provider."""

    parts: tuple[bytes | float, ...]
    """What is written, piece by piece, and seconds to wait in between."""
    status: int = 200
    content_type: str = "application/json"
    ending: Ending = "clean"


def first_answer(shape: Shape, *, stream: bool) -> Answer:
    """What a shape is about."""
    if shape.stream:
        return Answer(tuple(_events(shape)), shape.status, _SSE, shape.ending)
    if shape.message is not None:
        body = _completion(shape.message, shape.finish, shape.extra or {})
        return _streamed(body) if stream else _json(body, shape.status)
    raw = (shape.raw or "").encode("utf-8", "surrogatepass")
    if stream and shape.mode == "plain" and (tree := _tree(shape.raw or "")):
        return _streamed(tree)
    return Answer((raw,), shape.status, shape.content_type)


def message_answer(message: Mapping[str, object], *, stream: bool) -> Answer:
    """A turn of an ordinary model."""
    body = _completion(message, "tool_calls" if message.get("tool_calls") else "stop", {})
    return _streamed(body) if stream else _json(body)


def final_answer(tools: Sequence[str], *, stream: bool) -> Answer:
    """The end of a run, as a call of ``final_answer`` where the loop ends by that."""
    if "final_answer" not in tools:
        return message_answer({"role": "assistant", "content": FINAL}, stream=stream)
    function = {"name": "final_answer", "arguments": json.dumps({"answer": FINAL})}
    call = {"id": "call_final", "type": "function", "function": function}
    return message_answer({"role": "assistant", "content": None, "tool_calls": [call]}, stream=stream)


def refusal(why: str) -> Answer:
    """What a strict server says to a request that it does not take."""
    return _json({"error": {"message": why, "type": "invalid_request_error", "param": "messages"}}, 400)


def _completion(
    message: Mapping[str, object], finish: str | None, extra: Mapping[str, object]
) -> dict[str, object]:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1764000000, "model": "test-model"}
    return {**head, "choices": [choice], "usage": _USAGE, **extra}


def _json(tree: object, status: int = 200) -> Answer:
    return Answer((json.dumps(tree).encode(),), status)


def _tree(text: str) -> dict[str, object] | None:
    """The object that a body is, if it is one."""
    try:
        tree = json.loads(text)
    except ValueError:
        return None
    return tree if isinstance(tree, dict) else None


def _streamed(body: Mapping[str, object]) -> Answer:
    """The same reply in one chunk, for a client that cannot do without streaming."""
    choices = body.get("choices")
    if isinstance(choices, list):
        choices = [_chunked(choice) for choice in choices]
    chunk = {**body, "object": "chat.completion.chunk", **({"choices": choices} if "choices" in body else {})}
    return Answer((_event(json.dumps(chunk)), _event("[DONE]")), 200, _SSE)


def _chunked(choice: object) -> object:
    if not isinstance(choice, Mapping) or not isinstance(message := choice.get("message"), Mapping):
        return choice
    delta = dict(message)
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [
            {"index": index, **call} if isinstance(call, Mapping) else call
            for index, call in enumerate(calls)
        ]
    return {**{key: value for key, value in choice.items() if key != "message"}, "delta": delta}


def _events(shape: Shape) -> Iterator[bytes | float]:
    newline = shape.newline
    for item in shape.stream:
        match item[0]:
            case "~":
                yield float(item[1:])
            case "!":
                yield item[1:].replace("\n", newline).encode("utf-8", "surrogatepass")
            case "%":
                yield from (part.encode("latin-1") for part in _halves(item[1:]))
            case _:
                yield _event(_chunk(json.loads(item)), newline)
    if shape.ending == "done":
        yield _event("[DONE]", newline)


def _halves(delta: str) -> Iterator[str]:
    """A chunk whose first character outside ASCII is torn apart, as bytes in Latin-1."""
    text = _event(_chunk(json.loads(delta), ascii_only=False)).decode("latin-1")
    at = next(index for index, letter in enumerate(text) if ord(letter) > 127) + 1
    yield text[:at]
    yield text[at:]


def _chunk(item: Mapping[str, object], *, ascii_only: bool = True) -> str:
    """A whole chunk as it is; a delta, with its finish reason under ``finish``, as a chunk of its own."""
    if not {"choices", "error", "object"} & set(item):
        delta = {key: value for key, value in item.items() if key != "finish"}
        choice = {"index": 0, "delta": delta, "finish_reason": item.get("finish")}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764000000}
        item = {**head, "model": "test-model", "choices": [choice]}
    return json.dumps(item, ensure_ascii=ascii_only)


def _event(data: str, newline: str = "\n") -> bytes:
    return f"data: {data}{newline}{newline}".encode()
