from __future__ import annotations

from typing import Any, cast

import pytest

from tests.evals.made import CELL, cell, record
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._summary.reference_harness_files import (
    BY_SCENARIO,
    BY_STRATEGY,
    SUMMARY,
    Axes,
    label,
    summary_files,
)
from toolreel_core.evals._summary.summary import summarise

CHAT = cell(scenario="chat_only")
PRODUCTION = cell(strategy="production")
ORDER = (CELL, CHAT, PRODUCTION, cell(strategy="production", scenario="chat_only"))
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


def files(records: tuple[Record, ...] = RECORDS) -> dict[str, Any]:
    return cast(
        "dict[str, Any]",
        summary_files(summarise(records, dict.fromkeys(ORDER, range(1, 4)), ["chat_only"]), {"ts": "now"}),
    )


def test_a_summary_begins_with_what_was_asked_for() -> None:
    summary = files()[SUMMARY]
    assert next(iter(summary)) == "ts"
    assert (summary["runs"], summary["ok"], summary["valid"], summary["void"]) == (9, 3, 7, 1)
    assert (summary["complete"], summary["missing"]) == (False, 5), "surplus trials fill no gap"


def test_a_row_has_the_fields_of_the_reference() -> None:
    raw, production = files()[SUMMARY]["models"]
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


def test_failure_samples_are_the_first_three() -> None:
    raw = files()[SUMMARY]["models"][0]
    assert [run["trial"] for run in raw["failure_samples"]] == [2, 3, 4]
    assert len(raw["run_results"]) == 6


def test_a_run_tells_its_error_in_both_vocabularies() -> None:
    passed, void, unsupported = files()[SUMMARY]["models"][1]["run_results"]
    assert (passed["ok"], passed["result"], passed["error_category"]) == (True, "pass_unexercised", None)
    assert passed["report_path"] == "cassettes/x.yaml"
    assert (void["error_category"], void["category"]) == ("RATE_LIMIT", "transport.rate_limit")
    assert (void["error_status"], void["error_hint"]) == (429, "Z: slow down")
    assert void["error"] == "transport.rate_limit: because"
    assert unsupported["error_category"] == "NO_TOOL_USE_ENDPOINT"


def test_cross_tables_add_up_to_the_totals() -> None:
    written = files()
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
        by_strategy = written[BY_STRATEGY].values()
        assert sum(row[figure] for rows in by_strategy for row in rows.values()) == total


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([CELL], ["vendor/model"]),
        ([CELL, cell(model="b")], ["vendor/model", "b"]),
        ([CELL, PRODUCTION], ["vendor/model:raw", "vendor/model:production"]),
        ([CELL, cell(fallback="fallback_on")], ["vendor/model:best_effort", "vendor/model:fallback_on"]),
        ([CELL, cell(profile="cool")], ["vendor/model:default", "vendor/model:cool"]),
        ([cell(profile="cool")], ["vendor/model:cool"]),
    ],
)
def test_a_label_names_what_an_evaluation_varies(cells: list[Any], labels: list[str]) -> None:
    summary = summarise([record("pass", each) for each in cells], dict.fromkeys(cells, range(1, 2)), [])
    assert [label(task, Axes.of(summary)) for task in summary.tasks] == labels
