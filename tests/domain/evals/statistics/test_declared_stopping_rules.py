from __future__ import annotations

from math import isclose
from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import PlaceError, Table
from toolreel_core.evals._statistics.declared_stopping_rules import (
    Looks,
    NarrowEnough,
    PairsDecided,
    Spending,
    rule_from,
    rule_sentence,
)


def stop(**values: object) -> Table:
    return Table.of(values, "stop")


@pytest.mark.parametrize("spending", ["even", "late"])
def test_the_levels_of_the_looks_add_up_to_the_level_of_the_rule(spending: Spending) -> None:
    levels = Looks((10, 20, 40, 80), 0.05, spending).levels
    assert len(levels) == 4
    assert isclose(sum(levels), 0.05)


def test_levels_are_shared_evenly_or_kept_for_the_end() -> None:
    assert Looks((10, 20), 0.05).levels == (0.025, 0.025)
    assert Looks((10, 20), 0.05, "late").levels == (0.05 / 8, 0.05 - 0.05 / 8)
    assert Looks((30,)).levels == Looks((30,), spending="late").levels == (0.05,)


@pytest.mark.parametrize("at", [(), (0, 5), (5, 5), (5, 3)])
def test_looks_rise(at: tuple[int, ...]) -> None:
    told = complaint(ConfigError, lambda: Looks(at))
    assert told == f"looks: expected numbers of runs in rising order, got {[*at]}"


def test_a_level_and_a_width_are_shares() -> None:
    assert complaint(ConfigError, lambda: Looks((5,), 5)).startswith(
        "alpha: expected a number between 0 and 1"
    )
    assert complaint(ConfigError, lambda: NarrowEnough(10, Looks((5,)))).startswith("width: expected")


def test_a_plan_says_its_rule() -> None:
    assert rule_from(stop(until="narrow", width=0.1, looks=[10, 20])) == NarrowEnough(0.1, Looks((10, 20)))
    assert rule_from(stop(until="decided", looks=[10, 20], alpha=0.01, spending="late")) == PairsDecided(
        Looks((10, 20), 0.01, "late")
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "stop.until: expected one of narrow, decided, got None"),
        ({"until": "narrow", "looks": [5]}, "stop.width: expected a number, got None"),
        (
            {"until": "decided", "looks": [5], "width": 0.1},
            "stop: there is no key 'width'; there are: until, …",
        ),
        ({"until": "decided"}, "stop.looks: expected a list of numbers of runs, got None"),
        ({"until": "decided", "looks": [True]}, "stop.looks: expected a list of numbers of runs, got [True]"),
        (
            {"until": "decided", "looks": [5, 3]},
            "stop.looks: expected numbers of runs in rising order, got [5, 3]",
        ),
        (
            {"until": "decided", "looks": [5], "alpha": 5},
            "stop.alpha: expected a number between 0 and 1, got 5",
        ),
        (
            {"until": "decided", "looks": [5], "spending": "early"},
            "stop.spending: expected one of even, late, got 'early'",
        ),
    ],
)
def test_what_is_no_rule_is_told_at_its_place(values: dict[str, Any], told: str) -> None:
    assert complaint(PlaceError, lambda: rule_from(stop(**values))).startswith(told.removesuffix("…"))


def test_a_rule_says_itself_in_words() -> None:
    assert rule_sentence(NarrowEnough(0.1, Looks((30,)))) == (
        "Stop a cell after 30 runs, as soon as the interval of its rate is no wider than 0.1; "
        "the levels of the looks are 0.05, so that they are wrong in at most 5 % of cells."
    )
    assert rule_sentence(PairsDecided(Looks((10, 20)))) == (
        "Stop after 10 or 20 pairs, as soon as the exact McNemar test separates the two; "
        "the levels of the looks are 0.025 and 0.025, so that they are wrong in at most 5 % of comparisons "
        "of equals."
    )
