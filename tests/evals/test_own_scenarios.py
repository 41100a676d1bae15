"""Scenarios from files: run over HTTP, stored with the results, judged again elsewhere, promoted."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.evals.own_scenario_files import PYTHON, RESERVE, evaluated_file, plan_for, written
from tests.samples import worked
from toolreel._internal import EvalPlanError, ResultsError
from toolreel.evals import (
    Results,
    evaluate,
    load_eval_plan,
    plan_of_header,
    rejudge_runs,
    replay_runs,
    transcript_of,
)
from toolreel_core._jsontext import Json
from toolreel_core.evals import ScriptKind


@pytest.fixture(scope="module", params=["good", "bad"])
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, ScriptKind]:
    folder = tmp_path_factory.mktemp("own")
    path, kind = written(folder), request.param
    evaluated_file(path, folder / "results", kind)
    return folder / "results", path, kind


def test_the_runs_are_judged_by_the_files_checks(recorded: tuple[Path, Path, ScriptKind]) -> None:
    folder, _, kind = recorded
    wanted = {"good": ("pass", ""), "bad": ("fail", "task.outcome:effects")}[kind]
    found = [(one.verdict.result, one.verdict.category) for one in Results.open(folder).records()]
    assert found == [wanted] * 2


@pytest.mark.parametrize("recorded", ["good"], indirect=True)
def test_all_exchanges_are_recorded_told_and_met_by_another_strategy(
    recorded: tuple[Path, Path, ScriptKind],
) -> None:
    results = Results.open(recorded[0])
    plan, (record, _) = plan_of_header(results.header), results.records()
    assert (record.final, record.turns, record.calls) == ("Reserved.", 4, 2)
    assert len(record.attempts[0].asked) == 4
    told: Any = transcript_of(record, plan, results.path)
    said = ["".join(turn["said"]).split(" ")[0] for turn in told["turns"]]
    assert said == ["", "", "Reserve", ""]
    assert [turn["text"] for turn in told["turns"]] == ["", "There are 12.", "", "Reserved."]
    calls = [call["name"] for turn in told["turns"] for call in turn["calls"]]
    assert calls == ["stock_of", "reserve"]
    assert [one.fate for one in rejudge_runs(results, plan, "baseline")] == ["unchanged"] * 2


def test_an_exchange_without_an_answer_is_the_last(tmp_path: Path) -> None:
    chosen: Json = {
        "add_models": ["scripted:good"],
        "strategies": ["short"],
        "scenarios": [str(written(tmp_path))],
    }
    short: Json = {"short": {"extends": "raw", "config": {"max_turns": 1}}}
    evaluate(plan_for(tmp_path, eval=chosen, strategy=short), tmp_path / "results")
    (record,) = Results.open(tmp_path / "results").records()
    assert (record.verdict.category, record.turns, record.final) == ("loop.max_turns", 1, "")


def test_the_results_hold_the_scenario_and_are_judged_without_the_file(
    recorded: tuple[Path, Path, ScriptKind], tmp_path: Path
) -> None:
    results = Results.open(copytree(recorded[0], tmp_path / "elsewhere"))
    recorded[1].rename(recorded[1].with_suffix(".gone"))
    try:
        plan = plan_of_header(results.header)
        assert [again.drift for again in replay_runs(results, plan)] == [""] * 2
    finally:
        recorded[1].with_suffix(".gone").rename(recorded[1])


def test_a_changed_file_is_refused(recorded: tuple[Path, Path, ScriptKind], tmp_path: Path) -> None:
    changed = written(tmp_path, RESERVE.replace("to = 5", "to = 6"))
    url = plan_of_header(Results.open(recorded[0]).header).endpoint.base_url
    with pytest.raises(
        ResultsError, match="reserve_lamps was run under another configuration, or version of its sc"
    ):
        evaluate(plan_for(changed, url), recorded[0])


def test_a_plan_names_files_beside_itself_and_groups(tmp_path: Path) -> None:
    (tmp_path / "my").mkdir()
    written(tmp_path / "my")
    path = tmp_path / "plan.toml"
    path.write_text(
        '[eval]\nadd_models = ["scripted:good"]\nscenarios = ["my/*.toml", "basics", "!one_text"]\n'
    )
    names = [each.name for each in load_eval_plan(path, environ={}).scenarios]
    assert names[-1] == "reserve_lamps"
    assert "one_switch" in names
    assert "one_text" not in names


FILES = {
    "again.toml": RESERVE,
    "built_in.toml": RESERVE.replace("reserve_lamps", "happy_path"),
    "check.toml": RESERVE.replace("says = 12", 'says = "{pieces}"'),
    "bad.jsonl": "\n{",
    "none.py": "x = 1",
    "error.py": "1 / 0",
    "exit.py": "raise SystemExit(0)",
}


@pytest.mark.parametrize(
    ("words", "told"),
    worked("scenario files that cannot be read are refused with file and line", "commands"),
)
def test_what_cannot_be_read_is_refused_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    for name, text in FILES.items():
        written(tmp_path, text, name)
    with pytest.raises(EvalPlanError, match=told):
        load_eval_plan(None, {"eval": {"add_models": ["scripted:good"], "scenarios": words}}, environ={})


def test_a_python_file_is_stored_by_its_digest_and_imported_only_if_it_is_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, PYTHON, "notes.py")
    plan = plan_for(path, eval={"add_models": ["scripted:good", "scripted:bad"], "scenarios": [str(path)]})
    evaluate(plan, tmp_path / "results")
    results = Results.open(tmp_path / "results")
    assert [record.verdict.result for record in results.records()] == ["pass", "fail"]
    assert [again.drift for again in replay_runs(results, plan_of_header(results.header))] == ["", ""]
    assert "one note" not in (tmp_path / "results" / "header.json").read_text()
    path.write_text(f"{PYTHON}\n# changed", encoding="utf-8")
    with pytest.raises(ResultsError, match=r"'take_note' is in .*notes.py, which is missing or has changed"):
        plan_of_header(results.header)
    path.unlink()
    with pytest.raises(ResultsError, match="missing or has changed"):
        plan_of_header(results.header)


def test_a_stored_scenario_that_cannot_be_read_is_told(
    recorded: tuple[Path, Path, ScriptKind], tmp_path: Path
) -> None:
    folder = copytree(recorded[0], tmp_path / "results")
    header = json.loads((folder / "header.json").read_text())
    header["plan"]["own_scenarios"]["reserve_lamps"]["check"] = []
    (folder / "header.json").write_text(json.dumps(header))
    with pytest.raises(
        ResultsError, match="the scenario 'reserve_lamps' of these results cannot be read: check"
    ):
        plan_of_header(Results.open(folder).header)
