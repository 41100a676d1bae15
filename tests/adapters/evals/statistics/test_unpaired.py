from __future__ import annotations

import pytest
from scipy import stats

from toolreel.evals._statistics.unpaired import Unpaired, compare_unpaired
from toolreel_core.evals._statistics.counts import Count


def compared(first: Count, second: Count) -> Unpaired:
    found = compare_unpaired(first, second)
    assert found
    return found


def test_a_small_difference_of_many_runs_is_no_difference() -> None:
    found = compared(Count(496, 580), Count(503, 580))
    assert round(found.difference, 4) == 0.0121
    assert round(found.p_value, 2) == 0.55
    assert str(found.interval) == "-2.8 to 5.2 %"
    assert (found.test, found.interval.method) == ("score test", "Newcombe's hybrid score")


@pytest.mark.parametrize(
    ("first", "second"), [(Count(496, 580), Count(503, 580)), (Count(60, 100), Count(75, 90))]
)
def test_the_score_test_is_nearly_pearsons(first: Count, second: Count) -> None:
    table = [[count.passed, count.runs - count.passed] for count in (first, second)]
    _, expected, *_ = stats.chi2_contingency(table, correction=False)
    assert compared(first, second).p_value == pytest.approx(expected, rel=0.05)


def test_newcombes_own_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17:873, table II: 56/70 and 48/80 by method 10.
    found = compared(Count(48, 80), Count(56, 70))
    assert (round(found.interval.low, 4), round(found.interval.high, 4)) == (0.0524, 0.3339)


@pytest.mark.parametrize(
    ("first", "second"),
    [(Count(3, 5), Count(5, 5)), (Count(20, 20), Count(20, 20)), (Count(0, 3), Count(3, 3))],
)
def test_few_runs_or_few_failures_are_tested_exactly(first: Count, second: Count) -> None:
    found = compared(first, second)
    table = [[count.passed, count.runs - count.passed] for count in (first, second)]
    assert found.test == "Fisher's exact test"
    _, expected = stats.fisher_exact(table)
    assert found.p_value == pytest.approx(expected)
    assert found.interval.holds(found.difference)


def test_the_other_way_round_is_the_same_with_the_other_sign() -> None:
    one, other = compared(Count(60, 100), Count(75, 90)), compared(Count(75, 90), Count(60, 100))
    assert one.p_value == pytest.approx(other.p_value)
    assert (one.difference, one.interval.low) == pytest.approx((-other.difference, -other.interval.high))


def test_nothing_is_compared_with_no_runs() -> None:
    assert compare_unpaired(Count(0, 0), Count(1, 1)) is None
    assert compare_unpaired(Count(1, 1), Count(0, 0)) is None
