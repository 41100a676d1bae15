"""The scenarios about signatures, streams and MCP, over HTTP: recorded, and replayed without their server."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.evals.evaluations import plan_at
from tests.evals.provider import provider
from toolreel._internal import MissingExtra
from toolreel.evals import Results, evaluate, replays
from toolreel.evals._runner import real_tools

NAMES = ("signed_reasoning", "streamed_calls", "mcp_parcels")


def test_they_are_run_for_real_and_replayed_without_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider(kinds=("good",)) as server:
        plan = plan_at(server.url, NAMES, strategies=["baseline"])
        evaluate(plan, tmp_path / "results")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    results = Results.open(tmp_path / "results")
    records = {record.cell.scenario: record for record in results.records()}
    assert {name: record.verdict.result for name, record in records.items()} == dict.fromkeys(NAMES, "pass")
    (attempt,) = records["mcp_parcels"].attempts
    assert [one.name for one in attempt.results] == [
        "mcp_parcels_find_parcels",
        "mcp_parcels_redirect_parcel",
    ]
    for again in replays(results, plan):
        assert again.drift == ""
        assert again.now == again.record


def test_without_the_extra_the_plan_is_refused_with_both_remedies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_tools, "find_spec", lambda name: None if name == "mcp" else find_spec(name))
    with pytest.raises(
        MissingExtra, match=r"'toolreel\[mcp\]', or leave the scenario out with '!mcp_parcels'"
    ):
        evaluate(plan_at("http://localhost", ("production",)), tmp_path / "results")
