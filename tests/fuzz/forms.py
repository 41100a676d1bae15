"""Bodies and streams of Responses and Messages: any text means something, the same in any pieces."""

from __future__ import annotations

from tests.fuzz.draw import Draw
from tests.fuzz.streams import check_pieces
from tests.wire_forms import OTHER_FORMS
from toolreel_core._jsontext import canonical, encodable_text
from toolreel_core._replies import as_chat, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolSurface


def check(data: bytes) -> None:
    """What holds for any text that a server may send."""
    draw = Draw(data)
    form = draw.one_of(OTHER_FORMS)
    cuts = [draw.number(1 << 12) for _ in range(draw.one_of(range(4)))]
    text = draw.rest()
    found = as_chat(text, form)
    normalize_reply(found.body, tools=ToolSurface(), config=LoopConfig())
    canonical(found.body if not isinstance(found.body, str) else encodable_text(found.body))
    check_pieces(text, cuts, form)
