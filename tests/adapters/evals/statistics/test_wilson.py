from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel.evals._statistics.wilson import all_pass_trials, wilson
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (Count(496, 580), "82.4 to 88.1 %"),
        (Count(503, 580), "83.7 to 89.2 %"),
        (Count(20, 20), "83.9 to 100 %"),
        (Count(0, 20), "0 to 16.1 %"),
        (Count(5, 10), "23.7 to 76.3 %"),
    ],
)
def test_a_cell_has_wilsons_interval(count: Count, shown: str) -> None:
    interval = wilson(count)
    assert str(interval) == shown
    assert interval
    assert (interval.confidence, interval.method) == (0.95, "Wilson")


def test_an_interval_ends_exactly_at_0_or_1_where_all_runs_came_to_the_same() -> None:
    for runs in range(1, 50):
        none, every = wilson(Count(0, runs)), wilson(Count(runs, runs))
        assert none
        assert every
        assert (none.low, every.high) == (0.0, 1.0)


def test_no_runs_have_no_interval() -> None:
    assert wilson(Count(0, 0)) is None


def test_more_confidence_takes_a_wider_interval() -> None:
    widths = [interval.width for level in (0.8, 0.95, 0.99) if (interval := wilson(Count(15, 20), level))]
    assert widths == sorted(widths)
    assert complaint(ConfigError, lambda: wilson(Count(15, 20), 95)).startswith("confidence: expected")


@pytest.mark.parametrize(("lower_bound", "trials"), [(0.90, 35), (0.95, 73), (0.99, 381)])
def test_trials_that_all_pass_lift_the_lower_end(lower_bound: float, trials: int) -> None:
    assert all_pass_trials(lower_bound) == trials
    enough, too_few = wilson(Count(trials, trials)), wilson(Count(trials - 1, trials - 1))
    assert enough
    assert too_few
    assert too_few.low < lower_bound <= enough.low


def test_a_lower_end_that_is_trivial_or_out_of_reach() -> None:
    assert all_pass_trials(0.01) == 1
    assert complaint(ConfigError, lambda: all_pass_trials(1)).startswith("lower_bound: expected")
    assert complaint(ConfigError, lambda: all_pass_trials(1 - 1e-9)).endswith("more than a billion trials")
