"""Records as lines of JSON: read again, and refused with their place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.evals.made import cell, record
from toolreel_core._jsontext import canonical
from toolreel_core.evals import ObservedResult, Record, SentRequest, record_line, record_of, record_tree

PASSED = record()
LOST = SentRequest(1, 10, 429, failure="status")
TOLD = SentRequest(1, 20, None, "timeout", "stop", 1, 2, 3, 0.0, "m", "p", "f", "r")
FAILED = replace(
    record("void", trial=2, asked=[LOST, TOLD], status=429, hint="p: slow down", cassette="cassettes/x.yaml"),
    world=canonical(None),
    error_body=canonical({"error": {"message": "slow down"}}),
)
RESULT = ObservedResult("stock", canonical({"part": "pin"}), "3")
PLACED = replace(
    record(at=cell(endpoint="here")),
    world=canonical({"draft": {"foo": "bar"}}),
    attempts=tuple(replace(one, base_url="https://here.test", results=(RESULT,)) for one in PASSED.attempts),
)


@pytest.mark.parametrize("one", [PASSED, FAILED, PLACED])
def test_a_record_comes_back_from_its_line(one: Record) -> None:
    line = record_line(one)
    assert "\n" not in line
    assert record_of(line) == one
    assert record_line(record_of(line)) == line


def test_a_line_leaves_out_what_says_nothing_but_keeps_a_cost_of_zero() -> None:
    assert not {"error_status", "endpoint"} & {*record_tree(PASSED)}
    assert "base_url" not in record_line(PASSED)
    placed: Any = record_tree(PLACED)
    assert (placed["endpoint"], placed["attempts"][0]["base_url"]) == ("here", "https://here.test")
    tree: Any = json.loads(record_line(FAILED))
    assert tree["attempts"][0]["asked"][0] == {"turn": 1, "ms": 10, "status": 429, "failure": "status"}
    assert tree["attempts"][0]["asked"][1]["cost"] == 0.0


def broken(changes: dict[str, object]) -> str:
    """The line of a record with these changes."""
    tree: Any = json.loads(record_line(PASSED))
    return json.dumps({key: value for key, value in (tree | changes).items() if value != "gone"})
