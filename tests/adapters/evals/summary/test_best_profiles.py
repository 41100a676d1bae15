"""The best of several sampling profiles, with and without the luck that made it the best."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from tests.evals.made import cell, record
from toolreel.evals._summary.best_profiles import BestProfile, best_profiles
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._summary.summary import CellSummary, summarise

PROFILES = ("default", "cool", "warm", "hot")


def summed(records: list[Record]) -> tuple[CellSummary, ...]:
    return summarise(records, {each.cell: range(1, len(records) + 1) for each in records}, ()).cells


def runs(profile: str, passed: list[bool], scenario: str = "one", first: int = 1) -> list[Record]:
    at = cell(profile=profile, scenario=scenario)
    return [record("pass" if each else "fail", at, trial) for trial, each in enumerate(passed, first)]


def test_equals_are_not_praised_for_the_luck_of_the_best() -> None:
    """Four profiles that are equal at 85 %: the best looks like more, and on its other trials does not."""
    random, shown, judged = Random(7), list[float](), list[float]()
    for _ in range(100):
        records = [
            one
            for profile in PROFILES
            for scenario in "abcd"
            for one in runs(profile, [random.random() < 0.85 for _ in range(10)], scenario)
        ]
        [found] = best_profiles(summed(records), None)
        assert found.on_other_trials is not None
        shown.append(found.rate)
        judged.append(found.on_other_trials)
    assert fmean(shown) > 0.89
    assert fmean(judged) == pytest.approx(0.85, abs=0.02)


def test_it_is_chosen_on_one_half_and_judged_on_the_other_and_the_other_way_round() -> None:
    odd_is_good = [True, False, True, False]
    records = runs("default", odd_is_good) + runs("cool", [False, True, False, False])
    [found] = best_profiles(summed(records), None)
    # The odd trials choose default, which passes no even one; the even ones cool, which passes no odd one.
    assert found == BestProfile("vendor/model", 2, "default", 0.5, 0.0)
    assert str(found) == (
        "models: best of 2 profiles of vendor/model: default, 50.0 %; "
        "judged on the other half of its trials: 0.0 %"
    )


def test_one_trial_tells_nothing_of_luck() -> None:
    [found] = best_profiles(summed(runs("default", [True]) + runs("cool", [False])), None)
    assert found.on_other_trials is None
    assert str(found).endswith(
        "default, 100.0 %; one trial of each cell does not tell how much of it is luck"
    )


def test_a_model_with_one_profile_has_no_best() -> None:
    assert best_profiles(summed(runs("default", [True, True])), None) == ()
    void = [record("void", cell(profile="cool"), 1)]
    assert best_profiles(summed(runs("default", [True], "happy_path") + void), None) == ()
