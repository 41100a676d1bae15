from __future__ import annotations

from toolreel_core._text_calls import BARE, DIALECTS, MARKED


def test_each_dialect_is_marked_or_bare() -> None:
    assert (*MARKED, *BARE) == DIALECTS
    assert len(set(DIALECTS)) == len(DIALECTS) == 51
