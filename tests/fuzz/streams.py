"""Streamed replies: the pieces in which a text comes change nothing, and what was cut is no reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from tests.fuzz.claims import claim_text
from tests.fuzz.draw import Draw
from tests.fuzz.trees import json_object, json_value
from toolreel_core._jsontext import Json, canonical, sound
from toolreel_core._replies import Delta, Stream, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolSurface

_CONFIG: Final = LoopConfig()
_SINGLY: Final = 400
"""Characters of a text that come one at a time."""
_ENDS: Final = ("\n\n", "\r\n\r\n", "\r\r", "\n")


def _heard(pieces: Sequence[str]) -> tuple[bool | None, bool, int, Sequence[Delta], Json]:
    """What a stream comes to that arrives in some pieces.

    Whether it is one, whether it is over, its progress, what it shows, and the whole.
    """
    stream, shown = Stream(), list[Delta]()
    for piece in pieces:
        stream, deltas = stream.feed(piece)
        shown += deltas
    closed, deltas = stream.close()
    assert stream.whole() == closed.whole(), "closing a stream changes the whole"
    return closed.streamed, closed.done, closed.progress, [*shown, *deltas], stream.whole()


def check(data: bytes) -> None:
    """What holds for any text, for odd chunks, and for a call that comes in fragments."""
    draw = Draw(data)
    draw.one_of((_check_any, _check_chunks, _check_calls))(draw)


def _check_any(draw: Draw) -> None:
    cuts = [draw.number(1 << 12) for _ in range(draw.one_of(range(6)))]
    _check_pieces(draw.rest(), cuts)


def _check_chunks(draw: Draw) -> None:
    end = draw.one_of(_ENDS)
    cuts = [draw.number(1 << 12) for _ in range(draw.one_of(range(6)))]
    texts = ["data: " + canonical(_chunk(draw)) + end for _ in range(draw.one_of(range(8)))]
    _check_pieces("".join([*texts, draw.one_of(("", "data: [DONE]", f"data: [DONE]{end}"))]), cuts)


def _chunk(draw: Draw) -> Json:
    if draw.one_of(range(8)) == 1:
        return json_value(draw)
    delta = {
        draw.one_of(("content", "tool_calls", "reasoning_details")): json_value(draw),
        **json_object(draw),
    }
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": draw.one_of((None, "stop", 1))}]}


def _check_pieces(text: str, cuts: Sequence[int]) -> None:
    whole = _heard([text])
    singly = [*text[:_SINGLY], text[_SINGLY:]]
    assert _heard(singly) == whole, "a stream means something else a character at a time"
    assert _heard(_pieces(text, cuts)) == whole, "a stream means something else in other pieces"
    canonical(whole[-1])
    claim_text(sound("".join(delta.text for delta in whole[3])))
    assert all(delta.text for delta in whole[3]), "nothing to show is shown"
    if isinstance(content := _content_of(whole[-1]), str):
        shown = "".join(delta.text for delta in whole[3] if delta.kind == "content")
        assert shown == content, "what was shown is not what came"


def _check_calls(draw: Draw) -> None:
    """Calls that come in fragments are what was cut into them; less than all of them is none."""
    end = draw.one_of(_ENDS)
    place = draw.number(1 << 16)
    fragments = draw.one_of((_with_index, _by_order, _by_id, _told_again))
    calls = [canonical(json_object(draw)) for _ in range(draw.one_of((1, 2)))]
    deltas: list[Json] = []
    for number, arguments in enumerate(calls):
        pieces = _pieces(arguments, [draw.number(1 << 8) for _ in range(draw.one_of(range(6)))])
        deltas += [{"delta": {"tool_calls": [fragment]}} for fragment in fragments(number, pieces)]
    deltas.append({"delta": {}, "finish_reason": "tool_calls"})
    text = "".join(f"data: {canonical({'choices': [delta]})}{end}" for delta in deltas)
    assert _run_by(_heard([text])[-1]) == [*map(sound, calls)], f"other calls came of {text!r}"
    last = text.rindex("data:")
    assert _run_by(_heard([text[: place % last]])[-1]) == [], "a call that was cut would run"


def _with_index(number: int, pieces: Sequence[str]) -> list[Json]:
    """As OpenAI does."""
    first: dict[str, Json] = {
        "index": number,
        "id": f"c{number}",
        "function": {"name": "ping", "arguments": ""},
    }
    rest: list[Json] = [{"index": number, "function": {"arguments": piece}} for piece in pieces]
    return [first, *rest]


def _by_order(number: int, pieces: Sequence[str]) -> list[Json]:
    """As servers do that give no index."""
    first: dict[str, Json] = {"id": f"c{number}", "function": {"name": "ping", "arguments": ""}}
    rest: list[Json] = [{"function": {"arguments": piece}} for piece in pieces]
    return [first, *rest]


def _by_id(number: int, pieces: Sequence[str]) -> list[Json]:
    """As servers do that give every fragment the same index."""
    first: dict[str, Json] = {"index": 0, "id": f"c{number}", "function": {"name": "ping", "arguments": ""}}
    numbered: dict[str, Json] = {"index": 0, "id": f"c{number}"}
    rest: list[Json] = [{**numbered, "function": {"arguments": piece}} for piece in pieces]
    return [first, *rest]


def _told_again(number: int, pieces: Sequence[str]) -> list[Json]:
    """As servers do that repeat name and id."""
    named: dict[str, Json] = {"index": number, "id": f"c{number}"}
    return [{**named, "function": {"name": "ping", "arguments": piece}} for piece in pieces]


def _content_of(whole: Json) -> Json:
    """The content of the reply, if there is one."""
    match whole:
        case {"choices": [{"message": {"content": content}}, *_]}:
            return content
        case _:
            return None


def _pieces(text: str, cuts: Sequence[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


def _run_by(whole: Json) -> list[str]:
    """The arguments of the calls that would run."""
    assert isinstance(whole, Mapping)
    reply = normalize_reply(whole, tools=ToolSurface(), config=_CONFIG)
    return [] if reply.problem else [call.original for call in reply.calls]
