from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import asin, ceil, comb, sqrt

import pytest
from scipy.stats import binomtest, norm

from tests.samples import complaint
from toolreel.evals._statistics.power import (
    paired_detectable,
    paired_power,
    paired_runs,
    unpaired_detectable,
    unpaired_power,
    unpaired_runs,
)
from toolreel_core._errors import ConfigError


def mcnemar_p(lost: int, gained: int) -> float:
    return float(binomtest(lost, lost + gained).pvalue)


def test_to_see_three_points() -> None:
    assert str(unpaired_runs(0.85, 0.03)) == (
        "to see 3 points, each of the two needs 2036 runs (power 80 %, level 5 %, unpaired)"
    )
    assert str(paired_runs(0.1, 0.03)) == (
        "to see 3 points, each of the two needs 920 runs (power 80 %, level 5 %, paired)"
    )


@pytest.mark.parametrize(("rate", "difference"), [(0.85, 0.03), (0.85, -0.03), (0.5, 0.1), (0.9, 0.05)])
def test_unpaired_runs_are_the_fewest_with_the_power(rate: float, difference: float) -> None:
    runs = unpaired_runs(rate, difference).runs
    assert unpaired_power(rate, difference, runs - 1) < 0.8 <= unpaired_power(rate, difference, runs)
    # Cohen's effect size by arc sines is another approximation of the same.
    effect = 2 * (asin(sqrt(rate + difference)) - asin(sqrt(rate)))
    cohen = 2 * ((norm.ppf(0.975) + norm.ppf(0.8)) / effect) ** 2
    assert runs == pytest.approx(cohen, rel=0.03)


def test_unpaired_runs_are_nearly_the_textbooks() -> None:
    p, q = 0.85, 0.88
    middle, z_alpha, z_power = (p + q) / 2, norm.ppf(0.975), norm.ppf(0.8)
    null, other = sqrt(2 * middle * (1 - middle)), sqrt(p * (1 - p) + q * (1 - q))
    assert unpaired_runs(p, q - p).runs == ceil(((z_alpha * null + z_power * other) / (q - p)) ** 2)


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


@pytest.mark.parametrize(("discordance", "difference"), [(0.1, 0.03), (0.3, -0.1), (0.05, 0.05)])
def test_paired_runs_are_a_little_more_than_the_approximation_says(
    discordance: float, difference: float
) -> None:
    runs = paired_runs(discordance, difference).runs
    z_alpha, z_power = norm.ppf(0.975), norm.ppf(0.8)
    # Connor's formula for McNemar's test without its exactness.
    least = ((z_alpha * sqrt(discordance) + z_power * sqrt(discordance - difference**2)) / difference) ** 2
    assert least < runs < 1.35 * least + 10
    assert (
        paired_power(discordance, difference, runs) >= 0.8 > paired_power(discordance, difference, runs - 1)
    )


def test_power_without_a_difference_is_at_most_the_level() -> None:
    assert paired_power(0.2, 0.0, 500) <= 0.05


def test_what_so_many_runs_can_show_is_what_takes_so_many_runs() -> None:
    rise = unpaired_detectable(0.85, 2036)
    assert rise
    assert rise == pytest.approx(0.03, abs=1e-4)
    gain = paired_detectable(0.1, 920)
    assert gain
    assert gain == pytest.approx(0.03, abs=1e-4)
    assert unpaired_power(0.85, rise, 2036) == pytest.approx(0.8, abs=1e-4)


def test_few_runs_may_show_nothing() -> None:
    assert unpaired_detectable(0.9, 20) is None
    assert paired_detectable(0.05, 20) is None


def test_clusters_cost_runs() -> None:
    plain, dear = unpaired_runs(0.85, 0.03), unpaired_runs(0.85, 0.03, design_effect=2.5)
    assert dear.runs == 2.5 * plain.runs
    assert paired_runs(0.1, 0.03, design_effect=2).runs == 2 * 920
    assert paired_detectable(0.1, 1840, design_effect=2) == paired_detectable(0.1, 920)


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (lambda: unpaired_runs(0.85, 0.2), "rate + difference: expected a number between 0 and 1, got 1.05"),
        (lambda: unpaired_runs(85, 0.2), "rate: expected a number between 0 and 1, got 85"),
        (lambda: unpaired_runs(0.85, 0), "difference: no number of runs shows a difference of 0"),
        (lambda: unpaired_runs(0.5, 1e-7), "difference: 1e-07 would take more than 134217728 runs"),
        (lambda: unpaired_runs(0.85, 0.03, power=80), "power: expected a number between 0 and 1, got 80"),
        (
            lambda: unpaired_runs(0.85, 0.03, design_effect=0),
            "design_effect: expected a number above 0, got 0",
        ),
        (lambda: unpaired_power(0.85, 0.03, 10, alpha=5), "alpha: expected a number between 0 and 1, got 5"),
        (
            lambda: paired_detectable(0.1, 3, design_effect=4),
            "runs: expected at least 1 after the design effect, got 0",
        ),
        (
            lambda: paired_runs(0.02, 0.03),
            "difference: expected at most the discordance, 0.02, got 0.03: "
            "two that differ so much disagree on at least as many tasks",
        ),
    ],
)
def test_what_cannot_be_planned_is_told(plan: Callable[[], object], told: str) -> None:
    assert complaint(ConfigError, plan) == told
