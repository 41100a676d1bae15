from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import Price, estimate_tokens_by_bytes, estimator, register_estimator

counts = st.integers(0, 10**9)
amounts = st.floats(0, 1000)


@given(counts, counts, counts, amounts, amounts)
def test_the_cache_never_makes_a_prompt_dearer_or_free_where_it_costs(
    prompt: int, completion: int, cached: int, given_for: float, made_for: float
) -> None:
    full, half = Price(given_for, made_for), Price(given_for, made_for, cached_input=given_for / 2)
    least = Price(given_for / 2, made_for).cost(prompt, completion)
    paid = half.cost(prompt, completion, cached)
    assert least == pytest.approx(paid) or least <= paid
    assert paid <= full.cost(prompt, completion) or paid == pytest.approx(full.cost(prompt, completion))


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_a_price_is_an_amount(wrong: float) -> None:
    with pytest.raises(ConfigError, match=r"^output: expected a number of at least 0"):
        Price(1, wrong)


def test_whole_numbers_give_the_same_price_as_their_floats() -> None:
    assert repr(Price(2, 8, cached_input=1)) == repr(Price(2.0, 8.0, cached_input=1.0))


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("éé", 1), ("漢字", 2), ("\ud83d", 1)]
)
def test_four_bytes_are_a_token_and_so_is_what_is_left_over(text: str, tokens: int) -> None:
    assert estimate_tokens_by_bytes(text) == tokens


def test_users_add_their_own() -> None:
    register_estimator("letters", len)
    assert estimator("letters")("abc") == 3
    assert complaint(ConfigError, lambda: register_estimator("letters", len)) == (
        "there is a token estimator 'letters' already; choose another name"
    )
