# pyright: reportPrivateUsage=false
"""Texts of models have no limit, so the time to judge them grows with their length and no faster."""

from __future__ import annotations

import re
from time import process_time
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core.evals import claims_success, contains, denies_success, mentions
from toolreel_core.evals._scenarios import claims

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


QUESTIONS: Final = re.compile(r"[^.!?。\uff01\uff1f\n]*[?\uff1f]")
DEEDS: Final = re.compile(
    r"\b(?:habe|haben|wurden?|worden|ist|sind)\b.*\b(?:\w*ge\w+(?:t|en)|\w+iert|über\w+|(?:be|ver|er)\w+t)\b",
    re.I,
)
WORDS: Final = st.lists(
    st.sampled_from(
        [
            "ist",
            "gemacht",
            "gespeichert",
            "habe",
            "a",
            "?",
            ".",
            "!",
            "\n",
            " ",
            "\uff1f",
            "über1",
            "Ist",
            "ge",
        ]
    )
).map("".join)


@given(WORDS)
def test_questions_are_left_out_as_a_pattern_that_may_go_back_would(text: str) -> None:
    """Such a pattern says the same in one line, and takes minutes for a megabyte."""
    assert claims._SENTENCES.sub(claims._unless_asked, text) == QUESTIONS.sub(" ", text)
    for line in text.split("\n"):
        found = claims._follows(claims._GERMAN_DEED, claims._GERMAN_AUXILIARY, line)
        assert found is bool(DEEDS.search(line))
