"""Gates as a plan and ``eval compare --gate`` write them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal import PlaceError
from toolreel_core.evals import THESE, Gate, Options, gate_option, gates_of

BOTH = {"no_regression_of": "production", "against": "raw"}


@pytest.mark.parametrize(
    ("values", "gate", "name"),
    [
        (
            {"metric": "lower_bound", "strategy": "production", "at_least": 0.85},
            Gate("figure", 0.85, "lower_bound", ">=", strategy="production"),
            "lower_bound of production at least 0.85",
        ),
        (
            {"metric": "p95_ms", "model": "m", "scenario": "happy_path", "at_most": 9000},
            Gate("figure", 9000, "p95_ms", "<=", model="m", scenario="happy_path"),
            "p95_ms of m / happy_path at most 9000",
        ),
        (
            {**BOTH, "alpha": 0.01, "about": THESE},
            Gate("no-regression", 0.01, strategy="production", against="raw", about=THESE),
            "no regression of production against raw",
        ),
        (
            {**BOTH, "margin": 0.02, "model": "m"},
            Gate("margin", 0.02, strategy="production", model="m", against="raw"),
            "production / m at most 0.02 worse than raw",
        ),
        (
            {"nothing_broke_in": "production", "against": "raw"},
            Gate("nothing-broke", strategy="production", against="raw"),
            "nothing broke in production against raw",
        ),
    ],
)
def test_a_plan_says_its_gates(values: dict[str, Any], gate: Gate, name: str) -> None:
    assert str(gate) == name
    assert gates_of(Options.of({"gate": [values]})) == (gate,)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "gate: a gate has a metric, no_regression_of, or nothing_broke_in"),
        ({"metric": "rates", "at_least": 1}, "gate: there is no metric 'rates'; did you mean 'rate'?"),
        ({"metric": "rate"}, "gate: a gate about a metric has either at_least or at_most"),
        (
            {"metric": "rate", "at_least": 0, "at_most": 1},
            "gate: a gate about a metric has either at_least or at_most",
        ),
        ({"metric": "rate", "at_least": "x"}, "gate.at_least: expected a number of at least 0, got 'x'"),
        ({"metric": "rate", "at_least": True}, "gate.at_least: expected a number of at least 0, got True"),
        ({"metric": "rate", "atleast": 1}, "gate: there is no key 'atleast'; did you mean 'at_least'?"),
        ({"no_regression_of": "production"}, "gate: no_regression_of and against each name a strategy"),
        (
            {**BOTH, "alpha": 0.05, "margin": 0.02},
            "gate: either alpha, for a test, or margin, for the end of an interval",
        ),
        ({**BOTH, "margin": 2}, "gate.margin: expected a number above 0 and below 1, got 2"),
        ({**BOTH, "alpha": 5}, "gate.alpha: expected a number above 0 and below 1, got 5"),
        (
            {**BOTH, "about": "these"},
            "gate.about: expected one of scenarios-such-as-these, these-scenarios, got 'these'",
        ),
    ],
)
def test_what_is_no_gate_is_told_at_its_place(values: dict[str, Any], told: str) -> None:
    assert complaint(PlaceError, lambda: gates_of(Options.of({"gate": [values]}))) == told


@pytest.mark.parametrize(
    ("words", "gate"),
    [
        ("no-regression", Gate("no-regression")),
        ("no-regression=0.01", Gate("no-regression", 0.01)),
        ("margin[these-scenarios]=0.02", Gate("margin", 0.02, about=THESE)),
        ("no-regression[scenario=happy_path]", Gate("no-regression", scenario="happy_path", about=THESE)),
        ("nothing-broke[model=m,scenario=s]", Gate("nothing-broke", model="m", scenario="s", about=THESE)),
        ("nothing-broke", Gate("nothing-broke")),
        ("lower_bound >= 0.85", Gate("figure", 0.85, "lower_bound", ">=")),
        (
            "rate[strategy=production,model=m]<=0.9",
            Gate("figure", 0.9, "rate", "<=", strategy="production", model="m"),
        ),
    ],
)
def test_the_command_line_says_the_same(words: str, gate: Gate) -> None:
    assert gate_option(words) == gate
    assert str(Gate("margin", 0.1)) == "second at most 0.1 worse than first"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("lower_bound", "is no gate; write no-regression"),
        ("???", "is no gate; write no-regression"),
        ("margin", "is no gate; write no-regression"),
        ("margin>=0.1", "is no gate"),
        ("lower_bond>=0.5", "there is no metric 'lower_bond'; did you mean 'lower_bound'"),
        ("margin=2", "above 0 and below 1"),
        ("rate>=often", "is no gate"),
        ("rate>=nan", "is no gate"),
        ("rate[colour=red]>=1", "colour"),
        ("rate[model=]>=1", "'model=' is no part; write these-scenarios, or strategy, model, scenario"),
        ("rate[these-scenarios]>=1", "there is no key 'about'"),
        ("margin[these]=0.1", "these-scenarios"),
    ],
)
def test_mistakes_are_named(words: str, told: str) -> None:
    assert told in complaint(ConfigError, lambda: gate_option(words))
