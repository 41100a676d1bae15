"""A scripted reply as a stream: the same body in server-sent events, with calls in fragments next to text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, cast

from toolreel_core._jsontext.canonical import Json, Tree, canonical

_PIECE: Final = 7
"""Characters of each fragment: few enough to part words, numbers and escapes."""


def scripted_stream(body: Tree) -> str:
    """The stream of a body that :func:`scripted_reply` has made.

    Fragments of all calls and of the text take turns, as servers send them that write calls in parallel.
    """
    (choice,) = cast("Sequence[Tree]", body["choices"])
    message = cast("Tree", choice["message"])
    head = {key: body[key] for key in ("id", "created", "model")}
    deltas: list[Tree] = [{"role": "assistant"}, *_deltas(message)]
    end: Tree = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks: list[Tree] = [
        *({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas),
        {"choices": [end]},
        {"choices": [], "usage": body["usage"]},
    ]
    lines = (canonical({**head, "object": "chat.completion.chunk", **chunk}) for chunk in chunks)
    return "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))


def _deltas(message: Tree) -> Iterator[Tree]:
    fields = {key: message[key] for key in message if key not in {"role", "content", "tool_calls"}}
    if fields:
        yield fields
    calls = cast("Sequence[Tree]", message.get("tool_calls", ()))
    texts = [{"content": piece} for piece in _pieces(message.get("content"))]
    for row in zip_longest(texts, *(_of_call(place, call) for place, call in enumerate(calls))):
        yield from filter(None, row)


def _of_call(place: int, call: Tree) -> Iterator[Tree]:
    """The name first, then the arguments in fragments."""
    function = cast("Tree", call["function"])
    begun: Json = {**call, "index": place, "function": {**function, "arguments": ""}}
    yield {"tool_calls": [begun]}
    for piece in _pieces(function["arguments"]):
        yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}


def _pieces(text: Json) -> Iterator[str]:
    said = text if isinstance(text, str) else ""
    return (said[place : place + _PIECE] for place in range(0, len(said), _PIECE))
