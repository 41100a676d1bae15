from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb

import pytest
from scipy.stats import binomtest

from tests.samples import complaint
from toolreel.evals._statistics.power import (
    paired_detectable,
    paired_power,
)
from toolreel_core._errors import ConfigError


def mcnemar_p(lost: int, gained: int) -> float:
    return float(binomtest(lost, lost + gained).pvalue)


def test_paired_power_is_the_chance_of_all_tables_that_the_exact_test_rejects() -> None:
    pairs, lost, gained, power = 30, 0.05, 0.35, 0.0
    for b, c in product(range(pairs + 1), repeat=2):
        if 0 < b + c <= pairs and mcnemar_p(b, c) <= 0.05:
            power += (
                comb(pairs, b)
                * comb(pairs - b, c)
                * lost**b
                * gained**c
                * (1 - lost - gained) ** (pairs - b - c)
            )
    assert paired_power(lost + gained, gained - lost, pairs) == pytest.approx(power)


def test_power_without_a_difference_is_at_most_the_level() -> None:
    assert paired_power(0.2, 0.0, 500) <= 0.05


def test_the_smallest_difference_is_one_that_the_test_finds_with_the_power() -> None:
    gain = paired_detectable(0.1, 920)
    assert gain
    assert gain == pytest.approx(0.03, abs=1e-4)
    assert paired_power(0.1, gain, 920) == pytest.approx(0.8, abs=1e-4)


def test_few_runs_may_show_nothing() -> None:
    assert paired_detectable(0.05, 20) is None


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (lambda: paired_detectable(10, 20), "discordance: expected a number between 0 and 1, got 10"),
        (lambda: paired_detectable(0.1, 20, power=80), "power: expected a number between 0 and 1, got 80"),
        (lambda: paired_power(0.85, 0.03, 10, alpha=5), "alpha: expected a number between 0 and 1, got 5"),
        (lambda: paired_detectable(0.1, 0), "pairs: expected at least 1, got 0"),
        (
            lambda: paired_power(0.02, 0.03, 100),
            "difference: expected at most the discordance, 0.02, got 0.03: "
            "two that differ so much disagree on at least as many tasks",
        ),
    ],
)
def test_arguments_out_of_range_are_rejected(find: Callable[[], object], text: str) -> None:
    assert complaint(ConfigError, find) == text
