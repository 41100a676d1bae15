from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal.tables import PlaceError, Table
from toolreel_core.evals._statistics.gates import Gate, NoRegression, NoWorseThan, Threshold, gate_from


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
