"""Streamed replies: the pieces in which a text comes change nothing, and what was cut is no reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tests.fuzz.claims import claim_text
from tests.fuzz.draw import Draw
from tests.fuzz.trees import json_object, json_value
from toolreel_core._jsontext import Json, canonical, encodable_text
from toolreel_core._replies import Delta, normalize_reply, stream_for_form
from toolreel_core._settings import LoopConfig, WireForm
from toolreel_core._tools import ToolSurface

_CONFIG = LoopConfig()
_SINGLY = 400
"""Characters of a text that come one at a time."""
_ENDS = ("\n\n", "\r\n\r\n", "\r\r", "\n")


def check(data: bytes) -> None:
    """What holds for any text, for odd chunks, and for a call that comes in fragments."""
    draw = Draw(data)
    draw.one_of((_check_any, _check_chunks, _check_call))(draw)


def check_pieces(text: str, cuts: Sequence[int], form: WireForm = "chat_completions") -> None:
    """What holds for a text, however it is cut into pieces."""
    whole = _heard([text], form)
    singly = [*text[:_SINGLY], text[_SINGLY:]]
    assert _heard(singly, form) == whole, "a stream means something else a character at a time"
    assert _heard(_pieces(text, cuts), form) == whole, "a stream means something else in other pieces"
    shown = whole[3]
    claim_text(encodable_text("".join(delta.text for delta in shown)))
    assert all(delta.text for delta in shown), "nothing to show is shown"
    match form, whole[-1]:
        case "chat_completions", {"choices": [{"message": {"content": str() as content}}, *_]}:
            said = "".join(delta.text for delta in shown if delta.kind == "content")
            assert said == content, "what was shown is not what came"
        case _:
            canonical(whole[-1])


def _heard(
    pieces: Sequence[str], form: WireForm = "chat_completions"
) -> tuple[bool | None, bool, int, Sequence[Delta], Json]:
    """What a stream comes to that arrives in some pieces.

    Whether it is one, whether it is over, its progress, what it shows, and the whole.
    """
    stream, shown = stream_for_form(form), list[Delta]()
    for piece in pieces:
        stream, deltas = stream.feed(piece)
        shown += deltas
    closed, deltas = stream.close()
    assert stream.whole() == closed.whole(), "closing a stream changes the whole"
    return closed.streamed, closed.done, closed.progress, [*shown, *deltas], stream.whole()


def _check_any(draw: Draw) -> None:
    cuts = [draw.number(1 << 12) for _ in range(draw.one_of(range(6)))]
    check_pieces(draw.rest(), cuts)


def _check_chunks(draw: Draw) -> None:
    end = draw.one_of(_ENDS)
    cuts = [draw.number(1 << 12) for _ in range(draw.one_of(range(6)))]
    texts = ["data: " + canonical(_chunk(draw)) + end for _ in range(draw.one_of(range(8)))]
    check_pieces("".join([*texts, draw.one_of(("", "data: [DONE]", f"data: [DONE]{end}"))]), cuts)


def _chunk(draw: Draw) -> Json:
    if draw.one_of(range(8)) == 1:
        return json_value(draw)
    delta = {
        draw.one_of(("content", "tool_calls", "reasoning_details")): json_value(draw),
        **json_object(draw),
    }
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": draw.one_of((None, "stop", 1))}]}


def _check_call(draw: Draw) -> None:
    """A call is whole, or does not run; more habits of servers are in tests/properties."""
    end = draw.one_of(_ENDS)
    place = draw.number(1 << 16)
    arguments = canonical(json_object(draw))
    pieces = _pieces(arguments, [draw.number(1 << 8) for _ in range(draw.one_of(range(6)))])
    fragments: list[Json] = [{"index": 0, "id": "c", "function": {"name": "ping", "arguments": ""}}]
    fragments += [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    deltas: list[Json] = [{"delta": {"tool_calls": [fragment]}} for fragment in fragments]
    deltas.append({"delta": {}, "finish_reason": "tool_calls"})
    text = "".join(f"data: {canonical({'choices': [delta]})}{end}" for delta in deltas)
    assert _run_by(_heard([text])[-1]) == [encodable_text(arguments)], f"another call came of {text!r}"
    assert _run_by(_heard([text[: place % text.rindex("data:")]])[-1]) == [], "a call that was cut would run"


def _pieces(text: str, cuts: Sequence[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


def _run_by(whole: Json) -> list[str]:
    """The arguments of the calls that would run."""
    assert isinstance(whole, Mapping)
    reply = normalize_reply(whole, tools=ToolSurface(), config=_CONFIG)
    return [] if reply.problem else [call.original for call in reply.calls]
