"""Gates as a plan and ``eval compare --gate`` write them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
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
    ("words", "gate"),
    [
        ("no-regression", Gate("no-regression")),
        ("no-regression=0.01", Gate("no-regression", 0.01)),
        ("margin[these-scenarios]=0.02", Gate("margin", 0.02, about=THESE)),
        ("no-regression[scenario=happy_path]", Gate("no-regression", scenario="happy_path", about=THESE)),
        ("nothing-broke[model=m,scenario=s]", Gate("nothing-broke", model="m", scenario="s", about=THESE)),
        ("nothing-broke", Gate("nothing-broke")),
        ("lower_bound >= 0.85", Gate("figure", 0.85, "lower_bound", ">=")),
        ("rate[strategy=s,model=m]<=0.9", Gate("figure", 0.9, "rate", "<=", strategy="s", model="m")),
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
