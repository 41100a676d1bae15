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
        ("nothing-broke", Gate("nothing-broke")),
    ],
)
def test_the_command_line_says_the_same(words: str, gate: Gate) -> None:
    assert gate_option(words) == gate
    assert str(Gate("margin", 0.1)) == "second at most 0.1 worse than first"


@pytest.mark.parametrize("words", ["lower_bound>=0.5", "???", "margin", "margin>=0.1", "margin[these]=0.1"])
def test_what_is_no_gate_is_refused(words: str) -> None:
    assert "is no gate; write margin=0.1, no-regression" in complaint(ConfigError, lambda: gate_option(words))


def test_a_level_is_a_share() -> None:
    assert "above 0 and below 1, got 2" in complaint(ConfigError, lambda: gate_option("margin=2"))
