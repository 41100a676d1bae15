from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core.evals import WORDS, Draws, full_name, word

SEEDS = [str(number) for number in range(400)]


@given(st.text(), st.text(), st.integers(-50, 50), st.integers(0, 90))
def test_a_number_lies_in_its_range_and_follows_from_seed_and_name(
    seed: str, what: str, low: int, more: int
) -> None:
    drawn = Draws(seed).number(what, low, low + more)
    assert low <= drawn <= low + more
    assert drawn == Draws(seed).number(what, low, low + more)


def test_draws_are_the_same_on_every_machine() -> None:
    draws = Draws("1")
    assert (draws.number("a", 0, 999), draws.code("b", "K-", 4)) == (402, "K-3468")
    assert full_name(draws, "c") == "Nils Grove"


def test_every_value_comes_up_about_as_often_as_the_others() -> None:
    counts = Counter(Draws(seed).number("dice", 1, 6) for seed in SEEDS)
    assert sorted(counts) == [1, 2, 3, 4, 5, 6]
    assert max(counts.values()) < 2 * min(counts.values())


def test_names_of_draws_are_independent() -> None:
    pairs = {(Draws(seed).number("a", 0, 2), Draws(seed).number("b", 0, 2)) for seed in SEEDS}
    assert len(pairs) == 9


@given(st.text(), st.integers(0, 6))
def test_several_are_different(seed: str, count: int) -> None:
    drawn = Draws(seed).several("letters", "abcdef", count)
    assert len({*drawn}) == count
    assert {*drawn} <= {*"abcdef"}


@given(st.text(), st.integers(2, 5), st.integers(1, 5))
def test_codes_are_different_and_none_begins_another(seed: str, digits: int, count: int) -> None:
    codes = Draws(seed).codes("ids", "c-", digits, count)
    assert len({*codes}) == count
    assert {len(code) for code in codes} == {digits + 2}


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_a_word_is_one_of_the_pool_with_a_number(seed: str) -> None:
    name, _, number = word(Draws(seed), "value").partition("-")
    assert name in WORDS
    assert 100 <= int(number) <= 999
