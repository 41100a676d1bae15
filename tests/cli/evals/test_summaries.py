"""``toolreel eval summarize`` and ``toolreel eval compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import evaluated, plan_with, read, recorded, scripted
from tests.evals.made import cell, record, runs
from toolreel._cli import compare_command, report_command, summarize_command
from toolreel_core.evals import Record

NAMES = (
    *("happy_path", "partial_success_failure", "missing_workspace_id", "type_error_recovery"),
    *("happy_path_parallel", "long_arguments_guard"),
)


def said(command: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def told(command: click.Command, *arguments: object, code: int = 0) -> dict[str, Any]:
    result = said(command, *arguments, "--json")
    assert result.exit_code == code, result.output
    tree: dict[str, Any] = json.loads(result.stdout)
    return tree


def sentences(result: Result) -> str:
    """What was printed, with the cells of tables that go on in further lines joined."""
    return " ".join(line.rpartition("| ")[2].strip() for line in result.stdout.splitlines())


def of_six(strategy: str, *results: str) -> list[Record]:
    """Trials of six scenarios, or of as many as there are results."""
    return [one for name, trials in zip(NAMES, results, strict=False) for one in runs(strategy, trials, name)]


def without_last_line(folder: Path) -> None:
    """Take the last run out of a journal."""
    journal = folder / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))


@pytest.fixture
def recovered(tmp_path: Path) -> Path:
    """A directory in which production recovers six runs that raw fails, and loses none."""
    plan = plan_with(cell().model, strategies=["raw", "production"], scenarios=[*NAMES])
    return recorded(tmp_path / "results", plan, [*of_six("raw", *"ffffff"), *of_six("production", *"pppppp")])


def test_a_summary_is_a_table_in_the_order_of_the_plan(tmp_path: Path) -> None:
    plan = plan_with("scripted:good", "scripted:bad", strategies=["raw", "production"], trials=2)
    out = tmp_path / "results"
    evaluated(plan, out)
    result = said(summarize_command, out, "--markdown", tmp_path / "s.md")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "runs=40, ok=20, fail=20, unsupported=0, void=0, missing=0" in lines
    assert f"full report: {out}" in " ".join(lines)
    head = lines.index("models and strategies") + 1
    assert [part.strip() for part in lines[head].split("|")] == [
        *("model", "strategy", "passed", "rate", "95%", "recommended", "control", "category"),
    ]
    rows = [[part.strip() for part in line.split(" | ")] for line in lines[head + 2 : head + 6]]
    assert [tuple(row[:5]) for row in rows] == [
        ("scripted:good", "raw", "8/8", "100%", "67.6-100.0"),
        ("scripted:good", "production", "8/8", "100%", "67.6-100.0"),
        ("scripted:bad", "raw", "0/8", "0%", "0.0-32.4"),
        ("scripted:bad", "production", "0/8", "0%", "0.0-32.4"),
    ]
    assert rows[2][7] == "task.outcome:draft"
    assert (tmp_path / "s.md").read_text().startswith("# Evaluation of tool calls\n")
    assert read(out / "summary.json")["complete"] is True


def test_an_incomplete_evaluation_says_so_decides_nothing_and_exits_with_3(recovered: Path) -> None:
    without_last_line(recovered)
    result = said(summarize_command, recovered)
    assert result.exit_code == 3
    assert "Incomplete (runs not made: 1, void: 0);" in result.stderr
    assert told(summarize_command, recovered, code=3)["missing"] == 1
    compared = said(
        compare_command, recovered, "--by", "strategy", "raw", "production", "--gate", "no-regression"
    )
    assert compared.exit_code == 3
    assert "Incomplete (runs not made: 1, void: 0)" in compared.stderr
    assert "undecided | production must not be significantly worse than raw" in compared.stdout


def test_six_recoveries_and_no_loss_are_significant(recovered: Path) -> None:
    arguments = (recovered, "--by", "strategy", "raw", "production")
    tree = told(compare_command, *arguments, "--gate", "no-regression", "--gate", "margin=0.02")
    whole = tree["rows"][0]
    assert whole["pairs"] == {"both": 0, "lost": 0, "gained": 6, "neither": 0}
    found = whole["difference"]
    assert (found["p_value"], found["scenarios"]) == (pytest.approx(0.03125), 6)
    assert found["about"] == "scenarios-such-as-these"
    assert whole["these_scenarios"]["p_value"] < 0.05
    assert [row["axis"] for row in tree["rows"]] == [None, *["scenario"] * 6]
    assert {row["difference"]["about"] for row in tree["rows"][1:]} == {"these-scenarios"}
    assert all(row["p_holm"] > 0.5 for row in tree["rows"][1:])
    assert len(tree["gained"]) == 6
    assert tree["gained"][0]["first"]["failure_class"] == "task.outcome:draft"
    assert tree["lost"] == []
    assert [gate["standing"] for gate in tree["gates"]] == ["passed", "passed"]


def test_two_evaluations_are_compared_trial_by_trial(tmp_path: Path) -> None:
    before = recorded(
        tmp_path / "before",
        plan_with(cell().model, strategies=["raw"], scenarios=[*NAMES], trials=2),
        of_six("raw", "pp", "pp", "pp", "pf", "pf", "pf"),
    )
    after = recorded(
        tmp_path / "after",
        plan_with(cell().model, strategies=["raw"], scenarios=[*NAMES], trials=2, seeds=True),
        of_six("raw", "pf", "pp", "pp", "pp", "pf", "pf"),
    )
    tree = told(compare_command, before, after)
    assert tree["rows"][0]["pairs"] == {"both": 8, "lost": 1, "gained": 1, "neither": 2}
    for kind, scenario in (("lost", "happy_path"), ("gained", "type_error_recovery")):
        assert [(one["first"]["scenario"], one["first"]["trial"]) for one in tree[kind]] == [(scenario, 2)]
    shown = said(compare_command, before, after, "--gate", "margin[these-scenarios]=0.01")
    assert shown.exit_code == 3
    assert "plan.options.eval.seeds: false -> true" in shown.stdout


@pytest.fixture
def two_models(tmp_path: Path) -> tuple[Path, Path]:
    """Two directories with one model each; the second fails all that the first passes."""
    sides = []
    for name, result in (("one/model", "p"), ("other/model", "f")):
        plan = plan_with(name, strategies=["raw"], scenarios=[*NAMES])
        records = [one for each in NAMES for one in runs("raw", result, each, model=name)]
        sides.append(recorded(tmp_path / name, plan, records))
    return sides[0], sides[1]


def test_two_directories_with_a_model_each_are_paired_over_the_model(two_models: tuple[Path, Path]) -> None:
    tree = told(compare_command, *two_models, "--gate", "no-regression", code=1)
    assert (tree["axis"], tree["pairs"]["valid"], tree["pairs"]["only_first"]) == ("model", 6, 0)
    assert tree["rows"][0]["difference"]["difference"] == -1.0
    assert tree["rows"][0]["difference"]["p_value"] == pytest.approx(0.03125)
    assert tree["gates"][0]["standing"] == "failed"


def test_directories_without_a_common_scenario_cannot_be_compared(
    two_models: tuple[Path, Path], tmp_path: Path
) -> None:
    plan = plan_with("one/model", strategies=["raw"], scenarios=["one_text"])
    other = recorded(tmp_path / "text", plan, [record("pass", cell(model="one/model", scenario="one_text"))])
    result = said(compare_command, two_models[0], other, "--gate", "no-regression")
    assert result.exit_code == 2
    assert "no run of the one has the same task and trial as a run of the other" in result.stderr


@pytest.fixture
def collapsed(tmp_path: Path) -> Path:
    """A directory in which production fails all 32 runs of four scenarios that raw passes."""
    gates = {"gate": [{"no_regression_of": "production", "against": "raw"}]}
    plan = plan_with(
        cell().model, strategies=["raw", "production"], scenarios=[*NAMES[:4]], trials=8, tables=gates
    )
    records = [*of_six("raw", *["p" * 8] * 4), *of_six("production", *["f" * 8] * 4)]
    return recorded(tmp_path / "collapsed", plan, records)


def test_a_collapse_on_few_scenarios_never_passes(collapsed: Path) -> None:
    compared = (collapsed, "--by", "strategy", "raw", "production", "--gate")
    undecided = said(compare_command, *compared, "no-regression")
    assert undecided.exit_code == 3, undecided.output
    assert "undecided | production must not be significantly worse than raw" in undecided.stdout
    assert (
        "with 4 scenarios no difference can reach 0.05; 6 or more can. "
        'On these scenarios alone ("these-scenarios") the difference is -100 points, p < 0.001.'
    ) in sentences(undecided)
    assert said(compare_command, *compared, "margin=0.1").exit_code == 3
    assert said(compare_command, *compared, "no-regression[these-scenarios]").exit_code == 1
    assert said(compare_command, *compared, "margin[these-scenarios]=0.1").exit_code == 1
    rows = told(compare_command, *compared[:-1])["rows"]
    assert all(row["p_holm"] < 0.001 for row in rows[1:]), "the row of a scenario shows that it broke"
    planned = said(summarize_command, collapsed)
    assert planned.exit_code == 3
    assert "undecided | production must not be significantly worse than raw, and with 4" in planned.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["raw"], "name two directories, or one with --by and two values"),
        (["raw", "naked"], "naked"),
    ],
)
def test_mistakes_are_named(recovered: Path, arguments: list[str], complaint: str) -> None:
    result = said(compare_command, recovered, "--by", "strategy", *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_a_report_stands_beside_the_results_unless_it_is_wanted_elsewhere(tmp_path: Path) -> None:
    scripted(tmp_path, trials=1, scenarios=["happy_path"])
    told_files = {"files": [str(tmp_path / "report.html")], "complete": True}
    assert told(report_command, tmp_path) == told_files
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    result = said(report_command, tmp_path, "--out", tmp_path / "new" / "x.html")
    assert result.stdout.startswith(f"{tmp_path}/new/x.html  ")
    assert (tmp_path / "new" / "x.html").read_text(encoding="utf-8") == page
    without_last_line(tmp_path)
    result = said(report_command, tmp_path)
    assert (result.exit_code, "The evaluation is incomplete" in result.stderr) == (0, True)


def test_the_directory_can_come_from_the_variable_of_the_reference(
    recovered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = told(summarize_command, recovered)
    monkeypatch.setenv("OPENROUTER_REPORT_DIR", str(recovered))
    assert told(summarize_command) == named
    monkeypatch.setenv("OPENROUTER_REPORT_DIR", " ".strip())
    assert said(summarize_command).exit_code == 2
