"""The files of a summary, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.evals.directories import plan_with, recorded
from tests.evals.made import CELL, cell, record
from toolreel.evals import (
    BY_SCENARIO,
    BY_STRATEGY,
    SUMMARY,
    Results,
    findings_of,
    plan_of_header,
    summary_of,
    summary_trees,
)
from toolreel_core.evals import Record

CHAT = cell(scenario="chat_only")
PRODUCTION = cell(strategy="production")
RECORDS = (
    record("pass", trial=1, ms=(100,)),
    record("fail", trial=2, ms=(200,)),
    record("fail", trial=3, ms=(300,)),
    record("fail", trial=4, category="loop.max_turns"),
    record("fail", trial=5),
    record("pass", CHAT),
    record("pass_unexercised", PRODUCTION, dialects=["hermes_json"], cassette="cassettes/x.yaml"),
    record("void", PRODUCTION, 2, status=429, hint="Z: slow down", asked=()),
    record("unsupported", PRODUCTION, 3),
)


def files(
    folder: Path,
    records: tuple[Record, ...] = RECORDS,
    **options: Any,  # noqa: ANN401
) -> dict[str, Any]:
    given: dict[str, Any] = {
        "strategies": ["raw", "production"],
        "scenarios": ["happy_path", "chat_only"],
        "trials": 3,
    }
    plan = plan_with(CELL.model, **(given | options))
    results = Results.open(recorded(folder, plan, records))
    plan = plan_of_header(results.header)
    summary = summary_of(results, plan)
    return {**summary_trees(summary, findings_of(summary, plan), results, plan)}


def test_a_row_has_the_fields_of_the_reference(tmp_path: Path) -> None:
    summary = files(tmp_path)[SUMMARY]
    assert (summary["runs"], summary["ok"], summary["valid"], summary["void"]) == (9, 3, 7, 1)
    assert (summary["complete"], summary["missing"]) == (False, 5), "surplus trials fill no gap"
    raw, production = summary["models"]
    assert raw["model"] == "vendor/model:raw"
    assert (raw["model_base"], raw["strategy"], raw["sampling_profile"]) == ("vendor/model", "raw", "default")
    assert (raw["runs"], raw["ok"], raw["ok_rate"]) == (6, 2, 2 / 6)
    assert (raw["tool_runs"], raw["tool_ok"], raw["tool_ok_rate"]) == (5, 1, 1 / 5)
    assert (raw["control_runs"], raw["control_ok"], raw["control_ok_rate"]) == (1, 1, 1.0)
    assert raw["scenarios"] == ["happy_path", "chat_only"]
    assert (raw["tool_ms_p50"], raw["tool_ms_p95"]) == (100, 300)
    assert raw["content_tag_tool_call_fallback"] is False
    assert production["content_tag_tool_call_fallback"] is True
    assert (production["control_ok_rate"], production["control_ms_p95"]) == (None, 0)
    assert production["control_last_attempt_ms_p95_nearest_rank"] is None
    assert (production["ok_rate"], production["coverage"]) == (1.0, 1 / 3)


def test_failure_samples_are_the_first_three(tmp_path: Path) -> None:
    raw = files(tmp_path)[SUMMARY]["models"][0]
    assert [run["trial"] for run in raw["failure_samples"]] == [2, 3, 4]
    assert len(raw["run_results"]) == 6


def test_a_run_tells_its_error_in_both_vocabularies(tmp_path: Path) -> None:
    passed, void, unsupported = files(tmp_path)[SUMMARY]["models"][1]["run_results"]
    assert (passed["ok"], passed["result"], passed["error_category"]) == (True, "pass_unexercised", None)
    assert passed["report_path"] == "cassettes/x.yaml"
    assert (void["error_category"], void["category"]) == ("RATE_LIMIT", "transport.rate_limit")
    assert (void["error_status"], void["error_hint"]) == (429, "Z: slow down")
    assert void["error"] == "transport.rate_limit: because"
    assert unsupported["error_category"] == "NO_TOOL_USE_ENDPOINT"


def test_cross_tables_add_up_to_the_totals(tmp_path: Path) -> None:
    written = files(tmp_path)
    by_scenario = written[BY_SCENARIO]
    assert by_scenario["happy_path"]["errors"] == {
        "ASSERTION_FAILED": 3,
        "EXCEPTION": 1,
        "NO_TOOL_USE_ENDPOINT": 1,
        "RATE_LIMIT": 1,
    }
    assert [*by_scenario] == ["happy_path", "chat_only"]
    assert {*written[BY_STRATEGY]} == {"raw", "production"}
    for figure in ("runs", "ok", "pass", "fail", "void", "unsupported"):
        total = written[SUMMARY][figure]
        assert sum(row[figure] for row in by_scenario.values()) == total
        assert sum(row[figure] for row in written[SUMMARY]["models"]) == total
        assert sum(row[figure] for rows in written[BY_STRATEGY].values() for row in rows.values()) == total


def test_a_model_is_recommended_by_its_interval_and_never_by_its_rate(tmp_path: Path) -> None:
    """Twelve of twelve are enough for three quarters, eleven are not, and two of twelve are too few."""
    outcomes = {
        "yes": ["pass"] * 12,
        "undecided": ["pass"] * 11 + ["fail"],
        "no": ["pass"] * 2 + ["fail"] * 10,
        "conditional": ["pass"] * 12 + ["void"],
    }
    for wanted, results in outcomes.items():
        runs = tuple(record(result, trial=trial) for trial, result in enumerate(results, 1))  # type: ignore[arg-type]
        (row,) = files(tmp_path / wanted, runs, strategies=["raw"], trials=13)[SUMMARY]["models"]
        assert row["recommended"] == wanted
    refused = (record("unsupported"),)
    assert (
        files(tmp_path / "refused", refused, strategies=["raw"])[SUMMARY]["models"][0]["recommended"] == "no"
    )


def test_void_runs_that_are_accepted_are_told(tmp_path: Path) -> None:
    options: dict[str, Any] = {"accept_void": ["transport.rate_limit"], "min_coverage": 0.1}
    told = files(tmp_path, **options)[SUMMARY]["accepted_void"]
    assert (told["runs"], told["covered"]) == (1, True)
