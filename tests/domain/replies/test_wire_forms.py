"""Worked cases of Responses and Messages: what proxies, gateways and local servers make of these forms.

They are in ``tests/corpora/wire-responses.jsonl`` and ``wire-messages.jsonl``. ``source`` is the public
thread that shows the fault, or the documentation that the case is derived from; values are filled in.
``kept`` is what goes back with the message, ``usage`` the tokens of the prompt and the reply.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.samples import corpus_rows, worked
from tests.wire_forms import OTHER_FORMS
from toolreel_core._loop import parse_reply_body
from toolreel_core._plan import Plan
from toolreel_core._protocol import State
from toolreel_core._replies import ArgumentError, Reply, ToolCall, wire_form_of_body
from toolreel_core._settings import MESSAGES_BLOCKS, RESPONSES_ITEMS, Provider, WireForm
from toolreel_core._tools import ToolDefinition

KEYS = {"responses": RESPONSES_ITEMS, "messages": MESSAGES_BLOCKS}
TOOLS = [ToolDefinition.of(name) for name in ("stock_lookup", "ping")]


CASES = [{"form": form, **row} for form in OTHER_FORMS for row in corpus_rows(f"wire-{form}")]


def body(case: dict[str, Any]) -> str:
    return case["raw"] if "raw" in case else json.dumps(case["body"])


def read(case: dict[str, Any]) -> Reply:
    """What the loop makes of a body."""
    provider = Provider(wire_form=case["form"])
    return parse_reply_body(
        body(case), State.idle(Plan.of(model="m", messages="hi", tools=TOOLS, provider=provider))
    ).reply


def seen(call: ToolCall, expected: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": call.name, "id": call.id}
    if expected.get("id") == "$synthetic":
        assert call.id not in {"", "call_1", "toolu_1"}
        found["id"] = "$synthetic"
    if isinstance(call.arguments, ArgumentError):
        return found | {"arguments": None, "error": call.arguments.code}
    return found | {"arguments": json.loads(call.arguments)}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_worked_case(case: dict[str, Any]) -> None:
    expected, reply = case["expect"], read(case)
    assert len(reply.calls) == len(expected["calls"])
    assert [seen(*pair) for pair in zip(reply.calls, expected["calls"], strict=True)] == expected["calls"]
    assert reply.content == expected["content"]
    assert reply.finish == expected["finish"]
    assert (reply.problem.code if reply.problem else None) == expected["problem"]
    assert {*expected.get("warnings", ())} <= {*reply.warnings}
    assert reply.reasoning == expected.get("reasoning", "")
    kept: dict[str, Any] = json.loads(reply.carry)
    if "kept" in expected:
        assert kept[KEYS[case["form"]]] == expected["kept"]
    assert reply.paused == expected.get("paused", False)
    if "passing" in expected:
        assert reply.problem is not None
        assert reply.problem.passing == expected["passing"]
    if "usage" in expected:
        assert [reply.usage.prompt_tokens, reply.usage.completion_tokens] == expected["usage"]


@pytest.mark.parametrize(
    ("body", "form"),
    worked("a body may say its form", "json-and-replies"),
)
def test_a_body_may_say_its_form(body: str, form: WireForm | None) -> None:
    assert wire_form_of_body(body) == form
