"""Texts of models have no limit, so the time to judge them grows with their length and no faster."""

from __future__ import annotations

from time import process_time
from typing import Final

import pytest

from toolreel_core.evals import claims_success, contains, denies_success, mentions

UNITS: Final = (
    *("a", "a ", "1", "1.", "-1 ", "? ", "ist ", "I have really ", "was ", "ich kann ", "habe ge", "n't"),
    *("<b>much</b> ", "EUR1", "-- ", "\u3042", "**", "un", "ly "),
)
LENGTH: Final = 40_000


@pytest.mark.parametrize("unit", UNITS)
def test_judging_a_long_text_is_linear(unit: str) -> None:
    """In CPU time, so that a busy machine makes no difference; a quadratic pattern took 10 s and more."""
    text = unit * (LENGTH // len(unit)) + "x"
    since = process_time()
    claims_success(text)
    denies_success(text)
    mentions(text, "o-5091")
    mentions(text, 12.5)
    contains(text, "confirmed")
    assert process_time() - since < 3
