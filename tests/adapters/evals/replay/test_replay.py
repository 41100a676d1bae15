"""Evaluations judged again, without a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.provided import evaluated, planned, verdicts
from tests.evals.provider import provider
from toolreel._cli.evals.recorded.rescore import rescore_command
from toolreel.evals._replay.replay import BEFORE


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "results"
    with provider(kinds=("good", "bad")) as there:
        evaluated(planned(there.url, ["happy_path", "chat_only"], eval={"trials": 4}), folder)
    return folder


@pytest.fixture
def results(recorded: Path, tmp_path: Path) -> Path:
    return copytree(recorded, tmp_path / "results")


def rescore(*arguments: object) -> Result:
    return CliRunner().invoke(rescore_command, [*map(str, arguments)])


def edited(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the first line of the journal."""
    path = folder / "journal.jsonl"
    first, *others = path.read_text().splitlines()
    tree = json.loads(first)
    edit(tree)
    path.write_text("\n".join((json.dumps(tree), *others)) + "\n")


def failed(tree: dict[str, Any]) -> None:
    """What an older oracle said."""
    told = {"result": "fail", "category": "task.outcome:older", "reasons": ["an older oracle said so"]}
    tree.update(told)
    tree["attempts"][-1].update(told)


def test_runs_that_are_judged_as_before_are_written_as_they_are(results: Path, tmp_path: Path) -> None:
    said = rescore(results, "--out", tmp_path / "new")
    assert (said.exit_code, said.stdout) == (0, "8 runs judged again, 0 verdicts changed\n")
    for name in ("journal.jsonl", "header.json"):
        assert (tmp_path / "new" / name).read_text() == (results / name).read_text()
    assert rescore(tmp_path / "new", "--in-place").exit_code == 0, "the cassettes are there too"


def test_a_new_oracle_changes_verdicts_and_nothing_else(results: Path, tmp_path: Path) -> None:
    journal = (results / "journal.jsonl").read_text()
    edited(results, failed)
    said = rescore(results, "--out", tmp_path / "new")
    assert said.exit_code == 0
    assert "fail task.outcome:older -> " in said.stdout
    assert said.stdout.endswith("8 runs judged again, 1 verdict changed\n")
    assert (tmp_path / "new" / "journal.jsonl").read_text() == journal, "measured times are kept"


def test_in_place_the_old_journal_is_kept(results: Path) -> None:
    journal = (results / "journal.jsonl").read_text()
    edited(results, failed)
    old = (results / "journal.jsonl").read_text()
    tree = json.loads(rescore(results, "--in-place", "--json").stdout)
    assert len(tree["changed"]) == 1
    assert (results / "journal.jsonl").read_text() == journal
    assert (results / BEFORE).read_text() == old
    assert not [*results.glob(".rescored-*")]


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda tree: tree.update(final="Something else."), "another record: final"),
        (lambda tree: tree.update(version=99), "was run as version 99 of its scenario"),
        (lambda tree: tree.pop("cassette"), "was not recorded, so it cannot be replayed"),
        (lambda tree: tree["configuration"]["options"].update(temperature=1), "temperature"),
    ],
)
def test_another_conversation_is_refused(
    results: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], object], told: str
) -> None:
    edited(results, edit)
    said = rescore(results, "--out", tmp_path / "new")
    assert said.exit_code == 3
    assert told in said.stderr
    assert "Nothing written: 1 of 8 runs cannot be judged again." in said.stderr
    assert not (tmp_path / "new").exists()


def test_verdicts_need_one_place(results: Path, tmp_path: Path) -> None:
    assert rescore(results).exit_code == 2
    assert rescore(results, "--in-place", "--out", tmp_path / "new").exit_code == 2
    said = rescore(results, "--out", results)
    assert said.exit_code == 2
    assert "holds an evaluation already" in said.stderr
    assert verdicts(results)
