from __future__ import annotations

import re
from typing import Any

import pytest

from tests.evals.provided import planned
from toolreel.evals import gate_warnings
from toolreel_core._errors import ConfigError
from toolreel_core.evals import EvalPlan

TEST = {"no_regression_of": "reads", "against": "raw"}
FOUR = ["happy_path", "type_error_recovery", "missing_workspace_id", "long_arguments_guard"]
MANY = ["production"]


def plan_of(*gates: dict[str, Any], scenarios: list[str], **more: Any) -> EvalPlan:  # noqa: ANN401 - of a plan file
    trials = {"trials": more.pop("trials", 5)}
    strategies = more.pop("strategies", ["raw", "reads"])
    return planned("http://127.0.0.1:1", scenarios, strategies, gate=[*gates], eval=trials, **more)


@pytest.mark.parametrize(
    ("gate", "more", "told"),
    [
        (
            TEST,
            {},
            "can never be decided: reads must not be significantly worse than raw, and with 4 ",
        ),
        (
            {**TEST, "margin": 0.1},
            {},
            "can never be decided: .* it takes 36 scenarios to show so little",
        ),
        (
            {**TEST, "margin": 0.02, "about": "these-scenarios"},
            {},
            "without a difference, .* takes 189 runs",
        ),
        ({**TEST, "about": "these-scenarios"}, {"trials": 1}, "with 4 runs on 4 scenarios no difference can"),
        (
            {"metric": "lower_bound", "at_least": 0.85},
            {},
            "can never pass: lower_bound has to be at least 0.85, and if all of its runs pass, it is "
            "0.398; it takes 23 scenarios, of which there are 4",
        ),
        (
            {"metric": "upper_bound", "at_most": 0.5},
            {},
            "if none of its runs passes, it is 0.602; it takes",
        ),
        (
            {"metric": "lower_bound", "at_least": 0.9, "scenario": "happy_path", "model": "vendor/model"},
            {"strategies": ["raw"]},
            "it is 0.566; one scenario takes 35 runs",
        ),
        ({"metric": "lower_bound", "at_least": 1.0}, {}, "no number of scenarios can show that"),
    ],
)
def test_a_gate_that_cannot_be_decided_is_told_with_what_it_takes(
    gate: dict[str, Any], more: dict[str, Any], told: str
) -> None:
    [warning] = gate_warnings(plan_of(gate, scenarios=FOUR, **more))
    assert re.search(told, warning), warning


def test_made_up_results_are_not_told() -> None:
    [warning] = gate_warnings(plan_of(TEST, scenarios=FOUR))
    assert warning.endswith("no difference can reach 0.05; 6 or more can.")


@pytest.mark.parametrize(
    "gate",
    [
        TEST,
        {**TEST, "about": "these-scenarios"},
        {"metric": "lower_bound", "at_least": 0.3},
        {"metric": "rate", "at_least": 0.9},
        {"metric": "upper_bound", "at_least": 0.9},
    ],
)
def test_nothing_is_said_of_gates_that_can_be_decided(gate: dict[str, Any]) -> None:
    assert gate_warnings(plan_of(gate, scenarios=MANY)) == ()
    assert gate_warnings(plan_of(scenarios=MANY)) == ()


def test_models_that_are_a_sample_are_named() -> None:
    plan = planned(
        "http://127.0.0.1:1",
        MANY,
        eval={"add_models": [f"vendor/model-{number}" for number in range(6)], "trials": 5},
        gate=[{"metric": "lower_bound", "at_least": 0.9}],
    )
    [warning] = gate_warnings(plan)
    assert "with 6 models, which are a sample too, it takes more of both" in warning


def test_a_strategy_that_is_not_in_the_plan_is_an_error_before_the_runs() -> None:
    with pytest.raises(ConfigError, match="reeds against raw"):
        gate_warnings(plan_of({**TEST, "no_regression_of": "reeds"}, scenarios=MANY))
