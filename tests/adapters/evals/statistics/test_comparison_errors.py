"""A small edition of ``benchmarks/comparison_errors.py``, whose table is in docs/evals/comparisons.md."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import pytest

from benchmarks.comparison_errors import (
    EQUAL,
    GATES,
    WORSE,
    Setting,
    drawn,
    errors,
    no_difference_held,
    passing,
)
from toolreel.evals import compare_scenarios

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
    chance = 3 * sqrt(0.05 * 0.95 / PLANS)
    assert found.rejected <= 0.05 + chance
    assert found.covered >= 0.8


@pytest.mark.parametrize("setting", EQUAL[3:6], ids=named)
def test_what_an_interval_holds_is_said_without_its_ends(setting: Setting) -> None:
    for cells in drawn(setting, 15):
        found = compare_scenarios(cells)
        assert found is not None
        assert no_difference_held(cells) == found.interval.holds(0.0)


@pytest.mark.parametrize("setting", [each for each in WORSE if each.scenarios <= 60], ids=named)
def test_a_loss_in_a_few_scenarios_does_not_pass_a_margin(setting: Setting) -> None:
    assert passing(setting, GATES[:1], 60) == (0,)


def test_a_collapse_passes_nothing() -> None:
    assert passing(WORSE[-1], GATES, 20) == (0, 0)
