from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal import PlaceError, Table
from toolreel_core.evals import (
    Difference,
    Figures,
    Gate,
    GateResult,
    Interval,
    Measurements,
    NoRegression,
    NoWorseThan,
    Standing,
    StrategyComparison,
    Threshold,
    check_gate,
    gate_from,
    overall_standing,
)


@pytest.mark.parametrize(
    ("values", "gate"),
    [
        (
            {"metric": "lower_bound", "strategy": "production", "at_least": 0.85},
            Threshold("lower_bound", "at_least", 0.85, strategy="production"),
        ),
        (
            {"metric": "p95_ms", "model": "m", "scenario": "happy_path", "at_most": 9000},
            Threshold("p95_ms", "at_most", 9000, model="m", scenario="happy_path"),
        ),
        ({"no_regression_of": "production", "against": "raw"}, NoRegression("production", "raw", 0.05)),
        (
            {"no_regression_of": "production", "against": "raw", "alpha": 0.01},
            NoRegression("production", "raw", 0.01),
        ),
        (
            {"no_regression_of": "production", "against": "raw", "margin": 0.02},
            NoWorseThan("production", "raw", 0.02),
        ),
        (
            {"no_regression_of": "production", "against": "raw", "about": "these-scenarios"},
            NoRegression("production", "raw", 0.05, "these-scenarios"),
        ),
        (
            {"no_regression_of": "production", "against": "raw", "margin": 0.02, "about": "these-scenarios"},
            NoWorseThan("production", "raw", 0.02, "these-scenarios"),
        ),
        (
            {"no_regression_of": "production", "against": "raw", "about": "scenarios-such-as-these"},
            NoRegression("production", "raw"),
        ),
    ],
)
def test_a_plan_says_its_gates(values: dict[str, Any], gate: Gate) -> None:
    assert gate_from(Table.of(values, "gate")) == gate


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "gate: a gate has a metric, or no_regression_of"),
        ({"metric": "rate"}, "gate: a gate about a metric has either at_least or at_most"),
        (
            {"metric": "rate", "at_least": 0, "at_most": 1},
            "gate: a gate about a metric has either at_least or at_most",
        ),
        ({"metric": "rate", "at_least": "high"}, "gate.at_least: expected a number, got 'high'"),
        ({"metric": "rate", "atleast": 1}, "gate: there is no key 'atleast'; did you mean 'at_least'?"),
        ({"no_regression_of": "production"}, "gate: no_regression_of and against each name a strategy"),
        (
            {"no_regression_of": "a", "against": "b", "alpha": 0.05, "margin": 0.02},
            "gate: either alpha, for a test, or margin, for the end of an interval",
        ),
        (
            {"no_regression_of": "a", "against": "b", "margin": 2},
            "gate.margin: expected a number between 0 and 1, got 2",
        ),
        (
            {"no_regression_of": "a", "against": "b", "alpha": 5},
            "gate.alpha: expected a number between 0 and 1, got 5",
        ),
        (
            {"no_regression_of": "a", "against": "b", "about": "these"},
            "gate.about: expected one of scenarios-such-as-these, these-scenarios, got 'these'",
        ),
    ],
)
def test_what_is_no_gate_is_told_at_its_place(values: dict[str, Any], told: str) -> None:
    assert complaint(PlaceError, lambda: gate_from(Table.of(values, "gate"))) == told


def test_a_gate_that_is_made_by_hand_is_checked_too() -> None:
    assert "alpha: expected" in complaint(ConfigError, lambda: NoRegression("a", "b", 5))
    assert "margin: expected" in complaint(ConfigError, lambda: NoWorseThan("a", "b", 2))


def test_a_figure_is_of_a_group_of_runs() -> None:
    assert Threshold("rate", "at_least", 0.9, model="m").about == ("", "m", "")


PRODUCTION = Figures({"lower_bound": 0.8372, "p95_ms": 9000, "cost": None}, strategy="production")


def such(difference: float, low: float, p_value: float, **changes: Any) -> Difference:  # noqa: ANN401 - fields of any type
    """What 200 scenarios say about others such as these."""
    found = Difference(
        about="scenarios-such-as-these",
        difference=difference,
        interval=Interval(low, difference + (difference - low), 0.95, "made up"),
        p_value=p_value,
        smallest_p=2.0**-199,
        test="made up",
        scenarios=200,
        runs=2000,
    )
    return replace(found, **changes)


def these(difference: float, low: float, p_value: float, **changes: Any) -> Difference:  # noqa: ANN401 - fields of any type
    """What the same scenarios say about themselves."""
    return such(difference, low, p_value, **{"about": "these-scenarios", "smallest_p": 0.0, **changes})


WORSE = StrategyComparison("production", "baseline", such(-0.05, -0.09, 0.004))
MEASURED = Measurements((Figures({"rate": 0.9}), PRODUCTION), (WORSE,))


def at_least(limit: float, metric: str = "lower_bound") -> Threshold:
    return Threshold(metric, "at_least", limit, strategy="production")


def comparing(*found: Difference, missing: int = 0) -> Measurements:
    sample = next((one for one in found if one.about == "scenarios-such-as-these"), None)
    narrow = next((one for one in found if one.about == "these-scenarios"), None)
    return Measurements(comparisons=(StrategyComparison("production", "baseline", sample, narrow, missing),))


TEST, MARGIN = NoRegression("production", "baseline"), NoWorseThan("production", "baseline", 0.02)


@pytest.mark.parametrize(
    ("gate", "standing", "sentence"),
    [
        (at_least(0.8372), "passed", "lower_bound of production has to be at least 0.8372, and is 0.8372."),
        (at_least(0.85), "failed", "lower_bound of production has to be at least 0.85, and is 0.8372."),
        (at_least(1, "cost"), "undecided", "cost of production has to be at least 1, and is not known."),
        (Threshold("rate", "at_most", 0.9), "passed", "rate of all runs has to be at most 0.9, and is 0.9."),
        (
            Threshold("p95_ms", "at_most", 8000, strategy="production"),
            "failed",
            "p95_ms of production has to be at most 8000, and is 9000.",
        ),
    ],
)
def test_a_figure_is_held_against_its_limit(gate: Gate, standing: Standing, sentence: str) -> None:
    assert check_gate(gate, MEASURED) == GateResult(gate, standing, sentence)


@pytest.mark.parametrize(
    ("measured", "standing"),
    [
        (comparing(such(-0.05, -0.09, 0.05)), "failed"),
        (comparing(such(-0.05, -0.12, 0.06)), "passed"),
        (comparing(such(0.05, 0.01, 0.004)), "passed"),
        (comparing(), "undecided"),
        (comparing(such(-0.05, -0.09, 0.004), missing=1), "undecided"),
        (comparing(such(-0.05, -0.12, 0.06), these(-0.05, -0.12, 0.06)), "passed"),
        (comparing(such(0.05, -0.12, 0.06), these(0.05, 0.01, 0.01)), "passed"),
        (comparing(these(-0.05, -0.09, 0.004)), "failed"),
        (comparing(these(-0.05, -0.09, 0.4)), "passed"),
    ],
)
def test_a_test_fails_only_what_is_worse_and_significantly_so(
    measured: Measurements, standing: Standing
) -> None:
    assert check_gate(TEST, measured).standing == standing


def test_a_loss_that_is_no_accident_of_trials_never_passes() -> None:
    """One of 20 scenarios broke: no finding about others, but nothing to be silent about."""
    found = comparing(such(-0.05, -0.21, 1.0), these(-0.05, -0.06, 0.0000001))
    judged = check_gate(TEST, found)
    assert judged.standing == "undecided"
    assert judged.sentence == (
        "production must not be significantly worse than baseline: the difference is -5 points, p = 1 for "
        "scenarios such as these, and the level is 0.05. On these scenarios alone "
        '("these-scenarios") the difference is -5 points, p < 0.001.'
    )


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            such(-1.0, -1.0, 0.125, smallest_p=0.125, scenarios=4),
            "with 4 scenarios no difference can reach 0.05; 6 or more can",
        ),
        (
            such(-1.0, -1.0, 0.1, smallest_p=0.09375, scenarios=6, comparisons=3),
            "with 6 scenarios no difference of 3 comparisons can reach 0.05; 7 or more can",
        ),
        (
            such(-1.0, -1.0, 0.1, smallest_p=0.09375, models=6, comparisons=3),
            "with 6 models no difference of 3 comparisons can reach 0.05; 7 or more can",
        ),
        (
            these(-1.0, -1.0, 0.1, smallest_p=0.1, scenarios=1, runs=3),
            "with 3 runs on 1 scenario no difference can reach 0.05; more trials can",
        ),
        (
            these(-1.0, -1.0, 0.1, smallest_p=0.1, scenarios=2, runs=4),
            "with 4 runs on 2 scenarios no difference can reach 0.05; more trials can",
        ),
    ],
)
def test_a_test_that_cannot_find_anything_is_undecided(found: Difference, told: str) -> None:
    judged = check_gate(replace(TEST, about=found.about), comparing(found))
    assert judged.standing == "undecided"
    assert judged.sentence == f"production must not be significantly worse than baseline, and {told}."


def test_where_too_few_scenarios_say_nothing_the_sentence_has_what_these_say() -> None:
    found = comparing(
        such(-1.0, -1.0, 0.125, smallest_p=0.125, scenarios=4), these(-1.0, -1.0, 5e-45, scenarios=4)
    )
    assert check_gate(TEST, found).sentence.endswith(
        "6 or more can. On these scenarios alone "
        '("these-scenarios") the difference is -100 points, p < 0.001.'
    )
    assert check_gate(replace(TEST, about="these-scenarios"), found).standing == "failed"


@pytest.mark.parametrize(
    ("measured", "standing"),
    [
        (comparing(such(0.01, -0.02, 0.4)), "passed"),
        (comparing(such(0.01, -0.03, 0.4)), "failed"),
        (comparing(), "undecided"),
        (comparing(such(0.01, -0.02, 0.4), missing=3), "undecided"),
        (comparing(such(0.01, -0.03, 0.4, scenarios=182)), "undecided"),
        (comparing(such(0.01, -0.02, 0.4, scenarios=6)), "passed"),
        (comparing(such(-0.5, -0.6, 0.01, scenarios=20)), "failed"),
        (comparing(these(0.01, -0.03, 0.4)), "failed"),
        (comparing(these(0.01, -0.03, 0.4, runs=188)), "undecided"),
    ],
)
def test_a_margin_asks_for_the_end_of_the_interval(measured: Measurements, standing: Standing) -> None:
    assert check_gate(MARGIN, measured).standing == standing


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            such(0.0, -0.17, 1.0, scenarios=20),
            "it takes 183 scenarios to show so little, of which there are 20",
        ),
        (such(0.0, -0.17, 1.0, models=9), "it takes 183 models to show so little, of which there are 9"),
        (
            these(0.0, -0.17, 1.0, runs=20),
            "it takes 189 runs to show so little, of which there are 20",
        ),
    ],
)
def test_a_margin_says_what_it_takes(found: Difference, told: str) -> None:
    judged = check_gate(replace(MARGIN, about=found.about), comparing(found))
    assert judged.standing == "undecided"
    assert judged.sentence.endswith(f", and {told}.")


def test_the_sentences_say_what_was_found() -> None:
    assert check_gate(TEST, MEASURED).sentence == (
        "production must not be significantly worse than baseline: the difference is -5 points, p = 0.004 "
        "for scenarios such as these, and the level is 0.05."
    )
    assert check_gate(MARGIN, comparing(such(0.01, -0.03, 0.4), missing=2)).sentence == (
        "production must be shown to be at most 2 points worse than baseline: the interval of the difference "
        "is -3 points to 5 points for scenarios such as these, but 2 runs are missing."
    )
    assert check_gate(TEST, comparing()).sentence == (
        "production must not be significantly worse than baseline, and nothing compares them."
    )
    assert check_gate(MARGIN, comparing()).sentence == (
        "production must be shown to be at most 2 points worse than baseline, and nothing compares them."
    )


def test_a_figure_is_undecided_while_runs_are_missing() -> None:
    results = check_gate(at_least(0.8), Measurements((replace(PRODUCTION, missing=1),)))
    assert (results.standing, results.sentence) == (
        "undecided",
        "lower_bound of production has to be at least 0.8, and is 0.8372, but 1 run is missing.",
    )


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        (at_least(0.8, "lower"), "there is no metric 'lower'; did you mean 'lower_bound'?"),
        (
            Threshold("rate", "at_least", 0.8, strategy="prodction"),
            "there is no group of runs 'prodction'; did you mean 'production'?",
        ),
        (
            NoRegression("production", "raw"),
            "there is no comparison 'production against raw'; did you mean 'production against baseline'?",
        ),
    ],
)
def test_what_nobody_measured_cannot_be_judged(gate: Gate, told: str) -> None:
    assert complaint(ConfigError, lambda: check_gate(gate, MEASURED)) == told


def test_one_gate_that_fails_fails_all_and_one_that_is_open_leaves_all_open() -> None:
    passed, failed = check_gate(at_least(0.8), MEASURED), check_gate(at_least(0.9), MEASURED)
    undecided = check_gate(at_least(1, "cost"), MEASURED)
    assert overall_standing([]) == "passed"
    assert overall_standing([passed, passed]) == "passed"
    assert overall_standing([passed, undecided]) == "undecided"
    assert overall_standing([undecided, failed, passed]) == "failed"
