"""Malformed replies of public threads: what is not yet as expected is listed here, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.malformed_replies import CASES, SETTINGS, Verdict, body, judge
from toolreel import LoopConfig, Plan, ToolDefinition, ToolSurface
from toolreel_core import ReplyReceived, SendRequest, start, step
from toolreel_core._protocol.notes import RepairApplied

NOT_RIGHT: dict[str, dict[Verdict, str]] = {
    "defaults": {
        "told": "056 059 062 064",
        "silent": (
            "001 002 004 005 006 007 008 009 010 011 012 013 019 020 021 022 023 024 025 026 "
            "027 028 029 031 033 034 035 036 037 038 040 069 098"
        ),
    },
    "marked": {
        "told": "001 056 059 062 064",
        "silent": "006 007 009 010 011 023 027 028 031 033 034 035 036 037 040",
    },
    "everything": {
        "told": "001 056 059 062 064",
        "silent": "006 007 009 010 011 023 027 028 031 033 034 035 037",
    },
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_ends_as_an_answer_is_at_least_suspected(setting: str) -> None:
    config = SETTINGS[setting]
    silent = [case for case in CASES if judge(case, config) == "silent"]
    unnoticed = [case["id"] for case in silent if "TEXT_CALL_SUSPECTED" not in warnings_of(case, config)]
    assert unnoticed == []


def warnings_of(case: dict[str, Any], config: LoopConfig) -> set[str]:
    """The codes with which the first reply of a run is noted."""
    tools = ToolSurface(
        tuple(ToolDefinition.of(name, f"Tool {name}.", schema) for name, schema in case["tools"].items())
    )
    first = start(Plan.of(model="m", messages="Do the task.", tools=tools, config=config))
    asked = next(effect for effect in first.effects if isinstance(effect, SendRequest))
    after = step(first.state, ReplyReceived(asked.ref, 200, body(case)))
    return {note.code for note in after.notes if isinstance(note, RepairApplied)}


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_reply_is_read_or_told(setting: str) -> None:
    found: dict[Verdict, list[str]] = {}
    for case in CASES:
        verdict = judge(case, SETTINGS[setting])
        if verdict != "right":
            found.setdefault(verdict, []).append(case["id"].removeprefix("t-"))
    assert {verdict: " ".join(ids) for verdict, ids in found.items()} == NOT_RIGHT[setting]
