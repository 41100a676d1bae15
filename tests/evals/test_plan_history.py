"""A plan that is changed after its runs: every one is kept, and what was set later says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from click.testing import CliRunner

from tests.evals.evaluations import evaluated, plan_of, plan_with, read, recorded
from tests.evals.made import cell, record
from toolreel._cli import summarize_command
from toolreel._internal import ResultsError
from toolreel.evals import LATER, Results, report_page, schema_of

EASY: Final[dict[str, Any]] = {"metric": "rate", "at_least": 0.1}
HARD: Final[dict[str, Any]] = {"metric": "rate", "at_least": 0.9}


def summed(folder: Path, *options: str) -> Any:  # noqa: ANN401 - JSON
    done = CliRunner().invoke(summarize_command, [str(folder), "--json", *options])
    assert done.exit_code in {0, 1, 3}, done.output
    return json.loads(done.stdout)


def later(tree: Any) -> list[bool]:  # noqa: ANN401 - JSON
    return [LATER in gate["sentence"] for gate in tree["gates"]]


def test_a_plan_that_does_not_change_leaves_the_header_as_it_was(tmp_path: Path) -> None:
    evaluated(plan_of(gate=[EASY]), tmp_path)
    before = (tmp_path / "header.json").read_bytes()
    evaluated(plan_of(gate=[EASY]), tmp_path)
    assert (tmp_path / "header.json").read_bytes() == before
    assert not {"since", "earlier_plans"} & {*read(tmp_path / "header.json")}
    tree = summed(tmp_path)
    assert (later(tree), "earlier_plans" in tree) == ([False], False)


def test_every_plan_is_kept_and_a_gate_that_was_set_later_says_so_everywhere(tmp_path: Path) -> None:
    evaluated(plan_of(gate=[HARD]), tmp_path)
    first = read(tmp_path / "header.json")["plan"]
    evaluated(plan_of(gate=[HARD, EASY]), tmp_path)
    evaluated(plan_of(gate=[EASY]), tmp_path)
    header = read(tmp_path / "header.json")
    jsonschema.validate(header, schema_of("header"))
    assert header["plan"]["options"]["gate"] == [EASY]
    assert [each["records"] for each in header["earlier_plans"]] == [12, 12]
    assert header["earlier_plans"][0]["plan"] == first
    assert len({each["digest"] for each in header["earlier_plans"]}) == 2
    assert Results.open(tmp_path).header.tree() == header
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    tree = summed(tmp_path, "--junit", str(junit), "--markdown", str(markdown))
    assert later(tree) == [True]
    assert [set(each) for each in tree["earlier_plans"]] == [{"since", "digest"}] * 2
    changed = "The plan was changed after the first run"
    shown = CliRunner().invoke(summarize_command, [str(tmp_path)]).stdout
    assert LATER in shown
    assert f"{changed} (last: 2026-11-22T08:30:00Z): gate.\n" in shown
    assert LATER in junit.read_text()
    assert LATER in markdown.read_text()
    assert changed in markdown.read_text()
    page = report_page(Results.open(tmp_path))
    assert changed in page
    assert LATER in page


def test_a_gate_that_was_there_before_the_first_run_is_not_late(tmp_path: Path) -> None:
    """Although another plan was there before: no run was made under it."""
    model = cell().model
    recorded(tmp_path, plan_with(model, strategies=["raw"], scenarios=["happy_path"]), [])
    gated = plan_with(model, strategies=["raw"], scenarios=["happy_path"], tables={"gate": [EASY]})
    recorded(tmp_path, gated, [record()])
    tree = summed(tmp_path)
    assert (later(tree), len(tree["earlier_plans"])) == ([False], 1)
    two = plan_with(model, strategies=["raw"], scenarios=["happy_path"], tables={"gate": [HARD, EASY]})
    recorded(tmp_path, two, [])
    assert later(summed(tmp_path)) == [True, False]


def test_a_setting_that_was_changed_and_changed_back_is_named_and_the_number_of_jobs_is_not(
    tmp_path: Path,
) -> None:
    for tables in ({"trials": 2}, {"trials": 1}, {"trials": 2}, {"trials": 2, "jobs": 3}):
        evaluated(plan_of(eval=tables), tmp_path)
    shown = CliRunner().invoke(summarize_command, [str(tmp_path)]).stdout
    assert "): eval.trials.\n" in shown


def test_a_header_whose_plans_cannot_be_read_is_refused(tmp_path: Path) -> None:
    evaluated(plan_of(), tmp_path)
    path = tmp_path / "header.json"
    tree = read(path)
    wrong: tuple[object, ...] = (
        {},
        [{}],
        [{"plan": {}, "records": 1}],
        [{"plan": {}, "since": "", "records": "x"}],
    )
    for broken in wrong:
        path.write_text(json.dumps({**tree, "earlier_plans": broken}))
        with pytest.raises(ResultsError, match="is missing or wrong; restore the file"):
            Results.open(tmp_path)
