"""Gates as a plan and ``eval compare --gate`` write them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evals_values import worked
from toolreel_core.evals import Gate, Options, gates_of, parse_gate_option


@pytest.mark.parametrize(("values", "fields", "name"), worked("gate"))
def test_a_plan_says_its_gates(values: dict[str, Any], fields: dict[str, Any], name: str) -> None:
    gate = Gate(**fields)
    assert str(gate) == name
    assert gates_of(Options.of({"gate": [values]})) == (gate,)


@pytest.mark.parametrize(("words", "fields"), worked("gate option"))
def test_the_command_line_says_the_same(words: str, fields: dict[str, Any]) -> None:
    assert parse_gate_option(words) == Gate(**fields)
    assert str(Gate("margin", 0.1)) == "second at most 0.1 worse than first"
