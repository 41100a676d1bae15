from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals import Count, Pairs, total, total_pairs


def test_runs_are_counted() -> None:
    count = Count.of(passed for passed in (True, True, False, True))
    assert count == Count(3, 4)
    assert count.rate == 0.75
    assert total([count, Count(0, 0), Count(1, 1)]) == Count(4, 5)


def test_no_runs_have_no_rate() -> None:
    assert Count.of([]) == Count(0, 0) == total([])
    assert Count(0, 0).rate is None


@pytest.mark.parametrize(("passed", "runs"), [(3, 2), (-1, 2), (0, -1)])
def test_no_more_runs_can_pass_than_there_are(passed: int, runs: int) -> None:
    told = complaint(ConfigError, lambda: Count(passed, runs))
    assert told.startswith(f"{passed} of {runs} runs cannot have passed")


def test_pairs_are_counted_by_who_passed() -> None:
    pairs = Pairs.of([(True, True), (True, False), (False, True), (False, True), (False, False)])
    assert pairs == Pairs(both=1, lost=1, gained=2, neither=1)
    assert (pairs.runs, pairs.discordant) == (5, 3)
    assert (pairs.first, pairs.second) == (Count(2, 5), Count(3, 5))
    assert (pairs.difference, pairs.discordance) == (0.2, 0.6)
    assert total_pairs([pairs, Pairs(1, 0, 0, 0)]) == Pairs(2, 1, 2, 1)


def test_no_pairs_differ_by_nothing_that_is_known() -> None:
    nothing = Pairs.of([])
    assert nothing == Pairs(0, 0, 0, 0) == total_pairs([])
    assert nothing.difference is None
    assert nothing.discordance is None


def test_no_count_of_pairs_is_negative() -> None:
    told = complaint(ConfigError, lambda: Pairs(1, -1, 0, 0))
    assert "no count is negative: Pairs(both=1, lost=-1" in told
