from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import PlaceError, Table
from toolreel_core.evals._statistics.gates import (
    Figures,
    Gate,
    GateResult,
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
WORSE = StrategyComparison("production", "baseline", difference=-0.05, low=-0.09, p_value=0.004)
MEASURED = Measurements((Figures({"rate": 0.9}), PRODUCTION), (WORSE,))


def at_least(limit: float, metric: str = "lower_bound") -> Threshold:
    return Threshold(metric, "at_least", limit, strategy="production")


def comparing(
    difference: float | None, low: float | None, p_value: float | None, missing: int = 0
) -> Measurements:
    return Measurements(
        comparisons=(StrategyComparison("production", "baseline", difference, low, p_value, missing),)
    )


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
        (comparing(-0.05, -0.09, 0.05), "failed"),
        (comparing(-0.05, -0.12, 0.06), "passed"),
        (comparing(0.05, 0.01, 0.004), "passed"),
        (comparing(None, None, None), "undecided"),
        (comparing(-0.05, -0.09, 0.004, missing=1), "undecided"),
    ],
)
def test_a_test_fails_only_what_is_worse_and_significantly_so(
    measured: Measurements, standing: Standing
) -> None:
    assert check_gate(TEST, measured).standing == standing


@pytest.mark.parametrize(
    ("measured", "standing"),
    [
        (comparing(0.01, -0.02, 0.4), "passed"),
        (comparing(0.01, -0.03, 0.4), "failed"),
        (comparing(None, None, None), "undecided"),
        (comparing(0.01, -0.02, 0.4, missing=3), "undecided"),
    ],
)
def test_a_margin_asks_for_the_end_of_the_interval(measured: Measurements, standing: Standing) -> None:
    assert check_gate(MARGIN, measured).standing == standing


def test_the_sentences_say_what_was_found() -> None:
    assert check_gate(TEST, MEASURED).sentence == (
        "production must not be significantly worse than baseline: the difference is -5 points, p = 0.004, "
        "and the level is 0.05."
    )
    assert check_gate(MARGIN, comparing(0.01, -0.03, 0.4, missing=2)).sentence == (
        "production must be shown to be at most 2 points worse than baseline: the interval of the difference "
        "begins at -3 points, but 2 runs are missing."
    )
    assert check_gate(TEST, comparing(None, None, None)).sentence == (
        "production must not be significantly worse than baseline, and nothing compares them."
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
