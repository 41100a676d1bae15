from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from tests.samples import ROOT
from toolreel_core._jsontext import canonical
from toolreel_core._schema import Violation
from toolreel_core._tools import (
    Fault,
    FaultCode,
    arguments_violate_schema,
    call_abandoned,
    results,
    tool_not_allowed,
    tool_not_found,
)

LINES = (ROOT / "tests" / "corpora" / "faults.jsonl").read_text("utf-8").splitlines()
TOLD: list[dict[str, Any]] = [*map(json.loads, LINES)]
"""A fault of each kind, with the figures that it is made of."""


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told["fault"])
def test_a_fault_tells_the_model_what_to_do_next(told: dict[str, Any]) -> None:
    fault = getattr(results, told["fault"])(*told["args"])
    assert fault == Fault(told["code"], told["message"], canonical(told.get("data", {})))


def test_violations_are_told_with_what_to_do_next() -> None:
    violated = [Violation("/n", "integer", '"3"'), Violation("", "only 'n'", "{}")]
    assert arguments_violate_schema("echo", violated) == Fault(
        "ARGUMENTS_SCHEMA_ERROR",
        "/n: expected integer, got \"3\"; arguments: expected only 'n', got {}. "
        "Call echo again with the corrected arguments.",
    )


def test_every_code_has_been_told() -> None:
    assert {told["code"] for told in TOLD} | {"ARGUMENTS_SCHEMA_ERROR"} == set(get_args(FaultCode))


PAGE = "x" * 9_000


@pytest.mark.parametrize(
    "fault",
    [
        tool_not_found(PAGE, ()),
        tool_not_found(PAGE, ["search"]),
        tool_not_allowed(PAGE, ["search"]),
        call_abandoned(PAGE),
    ],
)
def test_a_name_as_long_as_a_page_is_not_told_back_whole(fault: Fault) -> None:
    assert f"{'x' * 80}…" in fault.message
    assert len(fault.message) < 250
