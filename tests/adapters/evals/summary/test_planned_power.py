from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from toolreel.evals import cluster_deviation, detectable, flips_p, flips_power


@pytest.mark.parametrize("many", range(1, 6))
def test_so_few_scenarios_show_nothing_however_exact_they_are(many: int) -> None:
    assert detectable(many, 0.001) is None


def test_six_scenarios_show_only_what_all_of_them_show() -> None:
    assert flips_power(0.0, 6, 1.0) == pytest.approx(0.5**6)
    assert flips_power(1.0, 6, 0.1) == pytest.approx(1.0)


@pytest.mark.parametrize("many", [7, 8, 20, 100, 2000])
def test_without_a_difference_at_most_half_of_the_level_is_found_on_one_side(many: int) -> None:
    assert flips_power(0.0, many, 0.3) <= 0.025 + 1e-9


@pytest.mark.parametrize("many", [6, 7, 12, 39, 40, 500])
def test_the_smallest_difference_is_found_with_the_power(many: int) -> None:
    size = detectable(many, 0.2)
    assert size
    assert flips_power(size, many, 0.2) == pytest.approx(0.8, abs=1e-6)


def test_more_scenarios_show_smaller_differences_and_more_trials_only_up_to_the_spread() -> None:
    by_scenarios = [detectable(many, 0.2) or 1.0 for many in (6, 10, 20, 40, 100, 1000)]
    assert by_scenarios == sorted(by_scenarios, reverse=True)
    by_trials = [detectable(20, cluster_deviation(trials)) or 1.0 for trials in (1, 10, 100, 10_000)]
    assert by_trials == sorted(by_trials, reverse=True)
    assert by_trials[-1] > 0.9 * (detectable(20, 0.15) or 1.0)


def test_a_difference_beyond_all_rates_is_none() -> None:
    assert detectable(8, 2.0) is None


@pytest.mark.parametrize(
    ("scenarios", "trials", "by_scenario"),
    [(6, 20, 0.1), (8, 10, 0.15), (10, 10, 0.1), (20, 5, 0.15), (30, 5, 0.2), (30, 3, 0.05), (60, 2, 0.1)],
)
def test_the_power_that_is_promised_is_found(scenarios: int, trials: int, by_scenario: float) -> None:
    """Plans of which the truth is known, within 5 points of 80 % and what 800 plans leave open."""
    random = np.random.default_rng(7)
    rates = random.beta(8, 10, size=20_000)
    within = 2 * float(np.mean(rates * (1 - rates)))
    size = detectable(scenarios, cluster_deviation(trials, by_scenario, within))
    assert size
    found = 0
    for _ in range(800):
        first = random.beta(8, 10, size=scenarios)
        second = np.clip(first + random.normal(size, by_scenario, size=scenarios), 0, 1)
        passed = random.binomial(trials, second) - random.binomial(trials, first)
        found += flips_p([Fraction(int(gain), trials) for gain in passed]) <= 0.05
    assert found / 800 == pytest.approx(0.8, abs=0.05 + 0.025)
