"""A small version of benchmarks/interval_coverage.py: intervals of totals hold the rate of the population.

Each setting has a formula that fails it: totals of before were too narrow there by as much as is asserted.
"""

from __future__ import annotations

import pytest

from benchmarks.interval_coverage import Setting, TwoWay, coverage

PLANS = 250


@pytest.mark.parametrize(
    "setting",
    [
        Setting(8, 20, 0.8, "a few broken"),
        Setting(20, 20, 0.95, "a few broken"),
        Setting(60, 20, 0.99, "a few broken"),
        TwoWay(8, 6, 0.8, 1.0, 1.5),
    ],
    ids=str,
)
def test_at_least_93_of_100_intervals_hold_the_rate(setting: Setting | TwoWay) -> None:
    found = coverage(setting, PLANS, seed=3, measured=1)
    assert found.coverage >= 0.93
    assert found.before < 0.93, "the bound tells the formulas apart"


def test_they_are_not_just_wide() -> None:
    found = coverage(Setting(60, 5, 0.8, "Beta"), PLANS, seed=3, measured=20)
    assert 0.93 <= found.coverage < 1
    assert found.width < 1.25 * found.width_before
