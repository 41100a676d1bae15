"""The figures of the case study, and evaluations next to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_with, recorded, scripted
from tests.evals.made import cell, record
from toolreel._cli import eval_command
from toolreel.evals import case_study
from toolreel.presets import shipped

QWEN = "qwen/qwen3-30b-a3b-instruct-2507:nitro"


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, ["compare", *map(str, arguments)])


STUDY = case_study()


def test_the_studys_tables_agree_with_each_other() -> None:
    assert [*STUDY["strategy"]] == ["raw", "baseline", "production"]
    for told in STUDY["strategy"].values():
        *tools, control = told["scenarios"].values()
        assert [sum(each) for each in zip(*tools, strict=True)] == told["tools"]
        assert control == told["control"]
        assert [sum(each) for each in zip(told["tools"], control, strict=True)] == told["overall"]
        passed, runs = told["overall"]
        assert runs == 725
        # The study names the most frequent categories alone.
        assert runs - passed - 15 <= sum(told["categories"].values()) <= runs - passed
    assert len(STUDY["model"]) == 17
    assert {model["tools"][1] for model in STUDY["model"].values()} == {4 * STUDY["trials"]}


def test_they_agree_with_the_catalogue_of_models() -> None:
    found = {model.name: model.recommendation for model in shipped().models if model.recommendation}
    for name, told in STUDY["model"].items():
        known = found[name]
        assert known.verdict == told["recommended"], name
        measured = (known.measured.profile, known.measured.ok, known.measured.runs, known.measured.p95_ms)
        assert measured == (told["profile"], *told["tools"], told["p95_ms"]), name
        assert known.measured_on == STUDY["measured_on"]


def test_an_evaluation_of_its_scenarios_stands_beside_it(tmp_path: Path) -> None:
    scripted(tmp_path, "scripted:good", "scripted:bad", scenarios=["case-study"])
    told = json.loads(compare(tmp_path, "--with", "case-study", "--json").stdout)
    rows = {(row["strategy"], row["of"]): row for row in told["rows"]}
    assert len(rows) == 12
    whole = rows["raw", "tool scenarios"]
    assert (whole["study"]["ok"], whole["study"]["runs"]) == (496, 580)
    assert (whole["yours"]["ok"], whole["yours"]["runs"]) == (8, 16)
    assert whole["difference"] == pytest.approx(8 / 16 - 496 / 580)
    assert whole["low"] < whole["difference"] < whole["high"]
    notes = " ".join(told["notes"])
    assert "2026-02-08" in notes
    assert "0 of yours are among the 17 of the study, 2 are not" in notes
    assert "Not run: baseline." in notes
    assert "with the study's user texts, caps and checks" in notes


def test_models_of_the_study_are_compared_and_void_runs_count_as_it_counts(tmp_path: Path) -> None:
    plan = plan_with(QWEN, strategies=["production"], scenarios=["happy_path"], trials=4)
    at = cell(model=QWEN, strategy="production")
    runs = [record("void" if trial == 4 else "pass", at, trial) for trial in range(1, 5)]
    page = tmp_path / "study.md"
    said = compare(recorded(tmp_path / "results", plan, runs), "--with", "case-study", "--markdown", page)
    assert said.exit_code == 0, said.output
    assert "20/20 100%" in said.stdout
    assert "3/4 75%" in said.stdout
    assert "which check more and cap less" in said.stdout
    assert "tool scenarios |" not in said.stdout.split("models, tool scenarios")[0]
    assert "# An evaluation compared with the case study" in page.read_text("utf-8")


def test_what_makes_no_comparison_is_refused(tmp_path: Path) -> None:
    scripted(tmp_path, "scripted:good", scenarios=["one_text"])
    said = compare(tmp_path, "--with", "case-study")
    assert (said.exit_code, "it has none of the study's scenarios" in said.stderr) == (2, True)
    said = compare(tmp_path, tmp_path, "--with", "case-study")
    assert (said.exit_code, "--with case-study: name one directory" in said.stderr) == (2, True)
    said = compare(tmp_path)
    assert (said.exit_code, "name two directories" in said.stderr) == (2, True)
