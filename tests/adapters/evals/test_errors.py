"""Small editions of the simulations under ``benchmarks/``, whose tables are in docs/evals."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import pytest

from benchmarks.comparison_errors import EQUAL, GATES, WORSE, Setting, errors, passing
from benchmarks.interval_coverage import Setting as Drawn
from benchmarks.interval_coverage import coverage

PLANS = 250


def named(setting: Setting) -> str:
    return setting.name


def some(settings: Sequence[Setting]) -> list[object]:
    """Every third of them; the others are left to `make nightly`."""
    return [
        pytest.param(setting, marks=() if place % 3 == 0 else pytest.mark.slow)
        for place, setting in enumerate(settings)
    ]


@pytest.mark.parametrize("setting", some(EQUAL), ids=named)
def test_equal_sides_are_told_apart_no_more_often_than_the_level_says(setting: Setting) -> None:
    found = errors(setting, PLANS)
    assert found.rejected <= 0.05 + 3 * sqrt(0.05 * 0.95 / PLANS)
    assert found.covered >= 0.9


@pytest.mark.parametrize("setting", [each for each in WORSE if each.scenarios <= 60], ids=named)
def test_a_loss_in_a_few_scenarios_does_not_pass_a_margin(setting: Setting) -> None:
    assert passing(setting, GATES[:1], 60) == (0,)


@pytest.mark.parametrize(
    "setting",
    [
        Drawn(8, 20, 0.8, "a few broken"),
        Drawn(20, 20, 0.95, "a few broken"),
        Drawn(60, 20, 0.99, "a few broken"),
    ],
    ids=str,
)
def test_at_least_93_of_100_intervals_hold_the_rate(setting: Drawn) -> None:
    found = coverage(setting, PLANS, seed=3, measured=1)
    assert found.coverage >= 0.93
    assert found.before < 0.93, "the bound tells the formulas apart"


def test_they_are_not_just_wide() -> None:
    found = coverage(Drawn(60, 5, 0.8, "Beta"), PLANS, seed=3, measured=20)
    assert 0.93 <= found.coverage < 1
    assert found.width < 1.25 * found.width_before
