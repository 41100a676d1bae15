from __future__ import annotations

import random

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals._summary.percentiles import nearest_rank, reference_percentile


@pytest.mark.parametrize(
    ("number", "percent", "nearest", "reference"),
    [
        (1, 50, 1, 1),
        (1, 95, 1, 1),
        (20, 50, 10, 11),
        (20, 95, 19, 20),
        (20, 100, 20, 20),
        (25, 50, 13, 13),
        (25, 95, 24, 24),
        (100, 7, 7, 8),
    ],
)
def test_the_nth_of_so_many_values(number: int, percent: int, nearest: int, reference: int) -> None:
    values = [*range(1, number + 1)]
    random.Random(7).shuffle(values)
    assert nearest_rank(values, percent) == nearest
    assert reference_percentile(values, percent) == reference


def test_of_no_values_the_one_is_none_and_the_reference_is_0() -> None:
    nothing: list[int] = []
    assert nearest_rank(nothing, 50) is None
    assert reference_percentile(nothing, 50) == 0


@pytest.mark.parametrize("percent", [0, 101, 0.95])
def test_a_percentile_is_told_in_percent(percent: int) -> None:
    told = f"percent: expected a whole number from 1 to 100, got {percent!r}"
    assert complaint(ConfigError, lambda: nearest_rank([1], percent)) == told
    assert complaint(ConfigError, lambda: reference_percentile([1], percent)) == told
