from __future__ import annotations

import random
from itertools import combinations
from math import inf, isclose, nan

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import PlaceError, Table
from toolreel_core.evals._statistics.counts import (
    CellMean,
    Count,
    Interval,
    Pairs,
    Ties,
    inside,
    number,
    pass_at,
    pass_hat,
    share,
    tied,
    total,
    total_pairs,
)

TABLE = Table.of({"half": 0.5, "two": 2, "yes": True, "text": "0.5", "endless": inf, "none": nan}, "gate")


def test_a_number_inside_is_given_back() -> None:
    assert inside("alpha", 0.05) == 0.05
    assert share(TABLE, "half") == 0.5
    assert number(TABLE, "two") == 2


@pytest.mark.parametrize("value", [0, 1, 95, -0.1, nan])
def test_a_level_is_between_0_and_1(value: float) -> None:
    told = complaint(ConfigError, lambda: inside("alpha", value))
    assert told == f"alpha: expected a number between 0 and 1, got {value!r}"


def test_what_is_not_there_has_its_default() -> None:
    assert number(TABLE, "limit", 3) == 3
    assert share(TABLE, "alpha", 0.05) == 0.05
    assert complaint(PlaceError, lambda: number(TABLE, "limit")) == "gate.limit: expected a number, got None"


@pytest.mark.parametrize("key", ["yes", "text", "endless", "none"])
def test_what_is_no_number_is_named_at_its_place(key: str) -> None:
    told = complaint(PlaceError, lambda: share(TABLE, key))
    assert told == f"gate.{key}: expected a number, got {TABLE.values[key]!r}"


def test_a_share_that_is_none_is_named_at_its_place() -> None:
    told = complaint(PlaceError, lambda: share(TABLE, "two"))
    assert told == "gate.two: expected a number between 0 and 1, got 2"


def test_an_interval_holds_its_ends() -> None:
    interval = Interval(-0.25, 0.5, 0.95, "Wilson")
    assert interval.width == 0.75
    assert [interval.holds(value) for value in (-0.26, -0.25, 0, 0.5, 0.51)] == [
        *(False, True, True, True),
        False,
    ]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.8372, 0.8918, "83.7 to 89.2 %"),
        (0, 1, "0 to 100 %"),
        (-0.02786, 0.052, "-2.8 to 5.2 %"),
        (-0.0001, 0.1, "0 to 10 %"),
    ],
)
def test_an_interval_is_shown_in_percent(low: float, high: float, shown: str) -> None:
    assert str(Interval(low, high, 0.95, "Wilson")) == shown


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


CELLS = [Count(5, 5), Count(3, 5), Count(0, 4), Count(1, 1)]


def test_pass_at_1_is_the_mean_of_the_cells_rates() -> None:
    assert pass_at(CELLS) == CellMean(k=1, rate=(1 + 0.6 + 0 + 1) / 4, cells=4, left_out=0)
    assert pass_hat(CELLS, 1) == pass_at(CELLS)


def test_cells_with_too_few_trials_are_left_out_and_counted() -> None:
    assert pass_hat(CELLS, 5) == CellMean(k=5, rate=0.5, cells=2, left_out=2)
    assert pass_hat(CELLS, 6) == CellMean(k=6, rate=None, cells=0, left_out=4)
    assert pass_at([]) == CellMean(k=1, rate=None, cells=0, left_out=0)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("passed", range(5))
def test_both_are_shares_of_all_choices_of_k_trials(passed: int, k: int) -> None:
    trials = [True] * passed + [False] * (4 - passed)
    chosen = [*combinations(trials, k)]
    assert isclose(pass_at([Count(passed, 4)], k).rate or 0, sum(map(any, chosen)) / len(chosen))
    assert isclose(pass_hat([Count(passed, 4)], k).rate or 0, sum(map(all, chosen)) / len(chosen))


def test_k_is_a_number_of_trials() -> None:
    told = complaint(ConfigError, lambda: pass_hat(CELLS, 0))
    assert told == "k: expected a whole number of at least 1, got 0"


RATES = {"raw": 0.8, "baseline": 0.85, "production": 0.9}


def test_all_are_one_set_where_nothing_separates_them() -> None:
    found = tied(RATES, [])
    assert found == Ties(("production", "baseline", "raw"), (("production", "baseline", "raw"),))
    assert found.letters == {"production": "a", "baseline": "a", "raw": "a"}


def test_a_candidate_can_be_tied_with_two_that_are_not() -> None:
    found = tied(RATES, [("raw", "production")])
    assert found.sets == (("production", "baseline"), ("baseline", "raw"))
    assert found.letters == {"production": "a", "baseline": "ab", "raw": "b"}


def test_each_is_alone_where_all_are_separated() -> None:
    found = tied(RATES, combinations(RATES, 2))
    assert found.sets == (("production",), ("baseline",), ("raw",))


def test_equals_stand_by_name_and_nobody_makes_no_set() -> None:
    assert tied({"b": 0.5, "a": 0.5}, []).names == ("a", "b")
    assert tied({}, []) == Ties((), ())


def test_where_letters_end_numbers_go_on() -> None:
    many = {f"m{number:02}": -number for number in range(54)}
    letters = tied(many, combinations(many, 2)).letters
    assert [letters[name] for name in ("m00", "m25", "m26", "m51", "m52", "m53")] == [
        *("a", "z", "A", "Z", "(53)"),
        "(54)",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_two_share_a_set_if_and_only_if_nothing_separates_them(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"m{number}" for number in range(8)]
    pairs = [*combinations(names, 2)]
    separated = chance.sample(pairs, chance.randrange(len(pairs)))
    sets = [set(one) for one in tied({name: chance.random() for name in names}, separated).sets]
    together = [pair for pair in pairs if any(set(pair) <= one for one in sets)]
    assert together == [pair for pair in pairs if pair not in separated]
    assert not any(one < other for one in sets for other in sets)


def test_a_name_that_nobody_has_is_told() -> None:
    told = complaint(ConfigError, lambda: tied(RATES, [("raw", "prodction")]))
    assert told == "there is no candidate 'prodction'; did you mean 'production'?"
