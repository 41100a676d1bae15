"""Bodies and streams of Responses and Messages: any text means something, the same in any pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from tests.fuzz.claims import claim_text
from tests.fuzz.draw import Draw
from tests.wire_forms import OTHER_FORMS
from toolreel_core._jsontext import canonical, sound
from toolreel_core._replies import Delta, as_chat, normalize_reply, stream_in
from toolreel_core._settings import LoopConfig, WireForm
from toolreel_core._tools import ToolSurface

_SINGLY: Final = 200
"""Characters of a text that come one at a time."""


def check(data: bytes) -> None:
    """What holds for any text that a server may send."""
    draw = Draw(data)
    form = draw.one_of(OTHER_FORMS)
    cuts = [draw.number(1 << 12) for _ in range(draw.one_of(range(4)))]
    text = draw.rest()
    found = as_chat(text, form)
    normalize_reply(found.body, tools=ToolSurface(), config=LoopConfig())
    canonical(found.body if not isinstance(found.body, str) else sound(found.body))
    whole, shown = _heard([text], form)
    singly = [*text[:_SINGLY], text[_SINGLY:]]
    assert _heard(singly, form) == (whole, shown), "a stream means something else a character at a time"
    assert _heard(_pieces(text, cuts), form) == (whole, shown), "a stream means something else in pieces"
    claim_text(sound("".join(delta.text for delta in shown)))
    assert all(delta.text for delta in shown), "nothing to show is shown"


def _heard(pieces: Sequence[str], form: WireForm) -> tuple[object, list[Delta]]:
    stream, shown = stream_in(form), list[Delta]()
    for piece in pieces:
        stream, deltas = stream.feed(piece)
        shown += deltas
    closed, deltas = stream.close()
    assert stream.whole() == closed.whole(), "closing a stream changes the whole"
    return (closed.streamed, closed.done, closed.progress, closed.whole()), [*shown, *deltas]


def _pieces(text: str, cuts: Sequence[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]
