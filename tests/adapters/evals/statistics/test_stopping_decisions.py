from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

import pytest

from toolreel.evals._statistics.intervals import wilson
from toolreel.evals._statistics.stopping_decisions import (
    Decided,
    cell_decided,
    counting_outcomes,
    early_stops,
    interval_after_looks,
    pairs_decided,
)
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.declared_stopping_rules import Looks, NarrowEnough, PairsDecided
from toolreel_core.evals._statistics.early_stops import chance_of_first_passes

GAINED, LOST, BOTH = (False, True), (True, False), (True, True)


def test_a_cell_stops_at_the_first_look_whose_interval_is_narrow_enough() -> None:
    rule = NarrowEnough(0.3, Looks((10, 20, 40)))
    assert cell_decided(rule, [True] * 19) is None
    assert cell_decided(rule, [True] * 20) == Decided(
        20,
        1 - 0.05 / 3,
        "after 20 runs the interval is 0.223 wide, and at most 0.3 is asked for: 77.7 to 100 %",
    )
    assert cell_decided(rule, [True, False] * 10) is None


def test_a_comparison_stops_at_the_first_look_that_separates_the_two() -> None:
    rule = PairsDecided(Looks((10, 20)))
    assert pairs_decided(rule, [GAINED] * 9) is None
    assert pairs_decided(rule, [GAINED] * 7 + [BOTH] * 3) == Decided(
        10, 0.975, "after 10 pairs, 7 gained and 0 lost, exact p = 0.0156 is at most 0.025"
    )
    assert pairs_decided(rule, [GAINED, LOST] * 10) is None


def test_what_was_run_beyond_the_look_that_decided_plays_no_part() -> None:
    rule = PairsDecided(Looks((10, 20)))
    decided = pairs_decided(rule, [LOST] * 10)
    assert decided
    assert decided == pairs_decided(rule, [LOST] * 10 + [GAINED] * 10)
    narrow = NarrowEnough(0.3, Looks((20, 40)))
    assert cell_decided(narrow, [True] * 20) == cell_decided(narrow, [True] * 20 + [False] * 20)


@lru_cache(None)
def stops(rule: PairsDecided, gained: int, lost: int) -> bool:
    """Whether this look, were it the first, separates the two: the order of pairs does not matter to it."""
    runs = gained + lost
    alone = PairsDecided(Looks((runs,), rule.looks.levels[rule.looks.at.index(runs)]))
    return pairs_decided(alone, [GAINED] * gained + [LOST] * lost) is not None


def wrong(rule: PairsDecided) -> float:
    """The exact chance that the rule separates two that do not differ, all pairs being discordant."""
    chances, found = {(0, 0): 1.0}, 0.0
    for _ in range(rule.looks.at[-1]):
        grown: defaultdict[tuple[int, int], float] = defaultdict(float)
        for (gained, lost), chance in chances.items():
            grown[gained + 1, lost] += chance / 2
            grown[gained, lost + 1] += chance / 2
        chances = dict(grown)
        for gained, lost in grown:
            if gained + lost in rule.looks.at and stops(rule, gained, lost):
                found += chances.pop((gained, lost))
    return found


@pytest.mark.parametrize("spending", ["even", "late"])
def test_looking_again_and_again_does_not_raise_the_error(spending: str) -> None:
    every_five = tuple(range(5, 101, 5))
    rule = PairsDecided(Looks(every_five, 0.05, "even" if spending == "even" else "late"))
    assert wrong(rule) <= 0.05


def test_without_sharing_the_level_it_would() -> None:
    every_five = tuple(range(5, 101, 5))
    assert wrong(PairsDecided(Looks(every_five, 0.05 * len(every_five) * 0.999))) > 0.1


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.97])
def test_intervals_of_cells_that_stopped_early_still_hold_the_rate(rate: float) -> None:
    """Exactly, over all ways in which the runs can come out."""
    rule = NarrowEnough(0.25, Looks((10, 20, 40, 80)))
    chances, held = {0: 1.0}, 0.0
    for runs in range(1, rule.looks.at[-1] + 1):
        grown: defaultdict[int, float] = defaultdict(float)
        for passed, chance in chances.items():
            grown[passed + 1] += chance * rate
            grown[passed] += chance * (1 - rate)
        chances = dict(grown)
        if runs not in rule.looks.at:
            continue
        level = rule.looks.levels[rule.looks.at.index(runs)]
        for passed in grown:
            interval = wilson(Count(passed, runs), 1 - level)
            assert interval
            if interval.width <= rule.width or runs == rule.looks.at[-1]:
                held += chances.pop(passed) * interval.holds(rate)
    assert held >= 0.95


@pytest.mark.parametrize("rate", [0.3, 0.8, 0.97])
def test_a_stop_moves_neither_the_estimate_of_a_cell_nor_what_its_interval_claims(rate: float) -> None:
    """Exactly, over all ways in which the runs can come out; the share that passed is off by some points."""
    rule = NarrowEnough(0.55, Looks((5, 10, 40)))
    stops = early_stops(rule)
    chances, mean, shares, held = {0: 1.0}, 0.0, 0.0, 0.0
    for runs in range(1, 41):
        grown: defaultdict[int, float] = defaultdict(float)
        for passed, chance in chances.items():
            grown[passed + 1] += chance * rate
            grown[passed] += chance * (1 - rate)
        chances = dict(grown)
        ending = next((stop.passed for stop in stops if stop.runs == runs), frozenset[int]())
        for passed in [one for one in grown if one in ending or runs == 40]:
            count, chance = Count(passed, runs), chances.pop(passed)
            estimate, interval = chance_of_first_passes(count, 1, stops), interval_after_looks(rule, count)
            assert estimate is not None
            assert interval
            mean += chance * estimate
            shares += chance * passed / runs
            held += chance * interval.holds(rate)
    assert mean == pytest.approx(rate)
    assert abs(shares - rate) > 0.005
    assert held >= 0.95


def test_what_came_after_the_look_that_decided_does_not_count() -> None:
    rule = NarrowEnough(0.55, Looks((6, 9)))
    assert counting_outcomes(rule, [True] * 6 + [False] * 2) == [True] * 6
    mixed = [True, False] * 5
    assert counting_outcomes(rule, mixed) == mixed[:9]


def test_the_interval_of_a_cell_is_the_one_that_stopped_it() -> None:
    rule = NarrowEnough(0.3, Looks((10, 20, 40)))
    decided, found = cell_decided(rule, [True] * 23), interval_after_looks(rule, Count(20, 20))
    assert decided
    assert found
    assert str(found) in decided.why
    assert (found.confidence, found.method) == (0.95, "Wilson at 98.3 %, as there are 3 looks")
    assert interval_after_looks(rule, Count(0, 0)) is None
