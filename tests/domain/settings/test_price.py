from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import Price

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


@pytest.mark.parametrize("key", ["input", "output", "cached_input"])
@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "1", True])
def test_a_price_is_an_amount(key: str, wrong: object) -> None:
    amounts: dict[str, Any] = {"input": 1, "output": 1, key: wrong}
    said = complaint(ConfigError, lambda: Price(**amounts))
    assert said.startswith(f"{key}: expected a number of at least 0")


def test_whole_numbers_give_the_same_price_as_their_floats() -> None:
    assert repr(Price(2, 8, cached_input=1)) == repr(Price(2.0, 8.0, cached_input=1.0))
