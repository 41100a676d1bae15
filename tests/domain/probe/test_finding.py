"""What is observed in all answers, whatever was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from toolreel_core._probe import Finding, Probing, observed_findings, select_questions
from toolreel_core._protocol import ReplyReceived

CALL = {"id": "call_0123456789", "type": "function", "function": {"name": "ping", "arguments": "{}"}}


def seen(message: Mapping[str, Any], finish: str | None = "tool_calls") -> dict[str, Finding]:
    probing = Probing("m", select_questions(("plain",)))
    assert probing.ask is not None
    body = json.dumps({"choices": [{"message": message, "finish_reason": finish}]})
    return {
        each.name: each
        for each in observed_findings(probing.with_answer(probing.ask, ReplyReceived(1, 200, body)))
    }


@pytest.mark.parametrize(
    ("calls", "form"),
    [
        ([CALL], "call_…"),
        ([{**CALL, "id": "functions.ping:0"}], "functions.NAME:NUMBER"),
        ([{**CALL, "id": "a1B2c3D4e"}], "9 characters"),
        ([{**CALL, "id": ""}], "none"),
        ([{**CALL, "id": None}], "none"),
        ([CALL, CALL], "one id for several calls"),
    ],
)
def test_the_form_of_ids(calls: list[Mapping[str, Any]], form: str) -> None:
    assert seen({"tool_calls": calls})["call_id_form"].word == form


def test_stop_reasons_of_calls() -> None:
    assert seen({"tool_calls": [CALL]})["stop_reasons"].word == "tool_calls"
    assert seen({"tool_calls": [CALL]}, None)["stop_reasons"].word == "none"
    assert "stop_reasons" not in seen({"content": "ok"})


def test_signatures() -> None:
    vertex = {"extra_content": {"vertex": {"thought_signature": "s"}}}
    assert seen({"tool_calls": [CALL | vertex]})["signatures"].word == "extra_content"
    details = [{"type": "reasoning.encrypted", "format": "google-gemini-v1"}]
    assert seen({"content": "ok", "reasoning_details": details})["signatures"].word == "reasoning_details"
    assert "signatures" not in seen({"content": "ok", "reasoning_details": [{"format": "openai"}, 3]})


def test_one_request_has_evidence_in_the_singular() -> None:
    assert Finding("plain", "basics", "accepted", "", (1,)).evidence == "request 1"
