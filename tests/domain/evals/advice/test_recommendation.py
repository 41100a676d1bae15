"""Recommendations, decided by intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._errors import ConfigError
from toolreel_core.evals._advice.recommendation import (
    Levels,
    ModelFigures,
    ProfileFigures,
    recommended,
)
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.interval import Interval

LEVELS = Levels(works=0.8)
USUAL = Count(18, 20)


def between(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "made")


def profile(
    interval: Interval | None,
    name: str = "default",
    count: Count = USUAL,
    *,
    runs: int = 20,
    unsupported: int = 0,
    scenarios: tuple[tuple[str, Count], ...] = (("one", Count(9, 10)), ("two", Count(9, 10))),
    like: Interval | None = None,
) -> ProfileFigures:
    return ProfileFigures(name, count, runs, unsupported, interval, like or interval, scenarios, 10)


def figures(*profiles: ProfileFigures, control: Interval | None = None) -> ModelFigures:
    return ModelFigures("model", profiles, control, Count(1, 5), None, (), None)


@given(ends=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), passed=st.integers(0, 20))
def test_the_interval_decides_whatever_the_rate_is(ends: list[float], passed: int) -> None:
    low, high = ends
    advice = recommended(figures(profile(between(low, high), count=Count(passed, 20))), LEVELS).advice
    if high < LEVELS.works:
        assert advice == "no"
    elif low < LEVELS.works:
        assert advice == "undecided"
    else:
        assert advice == "yes"


def test_a_model_that_takes_no_tools_is_no_and_one_that_never_answered_is_undecided() -> None:
    refused = profile(None, count=Count(0, 0), unsupported=20)
    found = recommended(figures(refused), LEVELS)
    assert (found.advice, found.why) == ("no", "it took no tools in 20 of 20 runs")
    void = profile(None, count=Count(0, 0))
    found = recommended(figures(void), LEVELS)
    assert (found.advice, found.why) == ("undecided", "none of its 20 runs is valid")
    assert found.model == "model"


def test_another_profile_below_the_level_makes_a_condition_and_one_that_works_is_named() -> None:
    best = profile(between(0.85, 1), "a", Count(20, 20))
    weak = profile(between(0.3, 0.7), "b", Count(10, 20))
    well = profile(between(0.81, 0.99), "c", Count(19, 20))
    unknown = profile(None, "d", Count(0, 0))
    found = recommended(figures(unknown, weak, well, best), LEVELS)
    assert (found.advice, found.why) == ("conditional", "not with b")
    assert found.profiles == ("a", "c")
    assert found.figures.best is best


def test_runs_that_the_provider_failed_make_a_condition() -> None:
    best = profile(between(0.85, 1), count=Count(18, 18))
    found = recommended(figures(best), LEVELS)
    assert (found.advice, found.why) == ("conditional", "its provider refused or failed 2 of 20 runs")


def test_a_brittle_control_is_said() -> None:
    best = profile(between(0.85, 1), count=Count(20, 20))
    found = recommended(figures(best, control=between(0.1, 0.6)), LEVELS)
    assert (found.advice, found.why) == ("yes_for_tools", "the control passes 1 of 5")
    assert recommended(figures(best, control=between(0.1, 0.9)), LEVELS).advice == "yes"


def test_most_misses_are_named_where_they_are_in_one_scenario() -> None:
    scenarios = (("guard", Count(2, 10)), ("other", Count(9, 10)))
    found = recommended(figures(profile(between(0.3, 0.7), count=Count(11, 20), scenarios=scenarios)), LEVELS)
    assert found.why == "it passes less than 80 %, 8 of 9 misses in guard"


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (Count(16, 20), "it is too close to the level for more runs to decide"),
        (Count(5, 5), "at this rate, about 17 runs would decide"),
        (Count(18, 20), "at this rate, about 62 runs would decide"),
        (Count(0, 1), "at this rate, about 3 runs would decide"),
    ],
)
def test_an_undecided_model_says_what_would_decide(count: Count, told: str) -> None:
    undecided = profile(between(0.5, 0.9), count=count, runs=count.runs, scenarios=(("one", count),))
    assert recommended(figures(undecided), LEVELS).why.endswith(told)


def test_about_scenarios_like_these_their_interval_decides() -> None:
    both = profile(between(0.85, 1), like=between(0.4, 1))
    levels = Levels(0.8, scope="like-these")
    found = recommended(figures(both), levels)
    assert (found.advice, found.why) == (
        "undecided",
        "80 % lies in the interval; more scenarios would decide",
    )


@pytest.mark.parametrize(("works", "coverage"), [(0.0, 0.5), (1.0, 0.5), (0.5, 1.5)])
def test_levels_are_shares(works: float, coverage: float) -> None:
    with pytest.raises(ConfigError, match="expected a share between 0 and 1"):
        Levels(works, coverage)
