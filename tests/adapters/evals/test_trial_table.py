"""The table of trials as a file, read again by those that read such files."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from click.testing import CliRunner

from tests.evals.evaluations import plan_with, recorded
from tests.evals.made import cell, record
from toolreel._cli import eval_command
from toolreel_core.evals import SentRequest

HOSTILE = 'says "no, never";\r\nthen =1+1 \x00'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six runs of a plan of eight: two were never made."""
    plan = plan_with("m", strategies=["raw", "production"], scenarios=["happy_path"], trials=4)
    at = cell(model="m", strategy="raw", scenario="happy_path")
    priced = SentRequest(1, 10, 200, prompt_tokens=30, completion_tokens=5, cost=0.25)
    runs = [
        record("pass", at, 1, asked=[priced, priced]),
        record("fail", at, 2, reasons=(HOSTILE,), hint=HOSTILE, ms=(40, 60)),
        record("void", at, 3, asked=[], status=429),
        record("unsupported", at, 4, status=404),
        record("pass", cell(model="m", strategy="production", scenario="happy_path"), 1),
        record("pass_unexercised", cell(model="m", strategy="production", scenario="happy_path"), 2),
    ]
    return recorded(tmp_path / "results", plan, runs)


def export(folder: Path, form: str, path: Path) -> list[dict[str, object]]:
    done = CliRunner().invoke(eval_command, ["export", str(folder), "--to", form, "--out", str(path)])
    assert done.exit_code == 0, done.output
    if form == "parquet":
        rows: list[dict[str, object]] = pyarrow.parquet.read_table(path).to_pylist()
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def test_parquet_has_a_typed_row_for_each_run_of_the_plan(folder: Path, tmp_path: Path) -> None:
    rows = export(folder, "parquet", tmp_path / "new" / "trials.parquet")
    assert [(row["strategy"], row["trial"], row["outcome"]) for row in rows] == [
        *(("raw", 1, "pass"), ("raw", 2, "fail"), ("raw", 3, "void"), ("raw", 4, "unsupported")),
        *(("production", 1, "pass"), ("production", 2, "pass_unexercised")),
        *(("production", 3, "missing"), ("production", 4, "missing")),
    ]
    passed, failed, void, unsupported, *_, missing = rows
    assert (passed["prompt_tokens"], passed["cost"], passed["ms"], passed["control"]) == (60, 0.5, 100, False)
    assert (passed["failure_class"], passed["endpoint"], passed["status"]) == (None, None, None)
    assert (failed["failure_class"], failed["void_reason"]) == ("task.outcome:draft", None)
    assert (failed["cost"], failed["ms"], failed["last_attempt_ms"]) == (None, 100, 60)
    assert failed["reason"] == failed["hint"] == HOSTILE
    assert (void["failure_class"], void["void_reason"], void["status"]) == (None, "transport.rate_limit", 429)
    assert (unsupported["failure_class"], unsupported["lacking"]) == ("wire.no_tool_use_endpoint", True)
    assert (missing["lacking"], missing["ms"], missing["key"], missing["turns"]) == (True, None, None, None)


def test_csv_has_the_same_rows_as_texts(folder: Path, tmp_path: Path) -> None:
    typed = export(folder, "parquet", tmp_path / "trials.parquet")
    texts = [
        {
            name: "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in row.items()
        }
        for row in typed
    ]
    assert export(folder, "csv", tmp_path / "trials.csv") == texts


def test_without_pyarrow_the_error_names_the_extra(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    command = ["export", str(folder), "--to", "parquet", "--out", str(tmp_path / "t")]
    done = CliRunner().invoke(eval_command, command)
    assert done.exit_code == 2
    assert "pip install 'toolreel[parquet]'" in done.output
    assert not (tmp_path / "t").exists()
