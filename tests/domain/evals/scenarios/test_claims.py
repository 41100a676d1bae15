"""What the texts of models claim; judging one takes time as its length."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core.evals import (
    admits_failure,
    claims_success,
    contains_value,
    denies_success,
    invented_act_clause,
    mentions_value,
    says_nothing,
)

ROWS = Path(__file__).with_name("claims.jsonl").read_text("utf-8").splitlines()
JUDGES = (claims_success, denies_success, admits_failure, says_nothing, mentions_value, invented_act_clause)


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.__name__)
def test_a_text_claims_what_a_reader_would_say(judge: Callable[..., object]) -> None:
    rows = [(given, wanted) for name, given, wanted in map(json.loads, ROWS) if name == judge.__name__]
    assert [given for given, wanted in rows if judge(*given) != wanted] == []
    assert rows


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    assert not (claims_success(text) and denies_success(text))
    assert isinstance(mentions_value(text, 7), bool)


@given(st.integers(0, 10**9))
def test_a_number_is_found_with_and_without_groups(number: int) -> None:
    assert mentions_value(f"It says {number:,} in all.", number)
    assert mentions_value(f"It says {number:,} in all.".replace(",", "."), number)
    assert not mentions_value(f"It says {number}7.", number)


UNITS = (
    *("a", "a ", "1", "1.", "-1 ", "? ", "ist ", "I have really ", "was ", "ich kann ", "habe ge", "n't"),
    *("<b>much</b> ", "EUR1", "-- ", "\u3042", "**", "un", "ly "),
)
LENGTH = 40_000


@pytest.mark.parametrize("unit", UNITS)
def test_judging_a_long_text_is_linear(unit: str) -> None:
    """In CPU time, so that a busy machine makes no difference; a quadratic pattern took 10 s and more."""
    text = unit * (LENGTH // len(unit)) + "x"
    since = process_time()
    claims_success(text)
    denies_success(text)
    mentions_value(text, "o-5091")
    mentions_value(text, 12.5)
    contains_value(text, "confirmed")
    assert process_time() - since < 3
