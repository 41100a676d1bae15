"""Evaluations judged again, without a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_at, verdicts
from tests.evals.provider import provider
from toolreel._cli import replay_command
from toolreel.evals import evaluate


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "results"
    with provider(kinds=("good", "bad")) as there:
        evaluate(plan_at(there.url, ["happy_path", "chat_only"], eval={"trials": 4}), folder)
    return folder


@pytest.fixture
def results(recorded: Path, tmp_path: Path) -> Path:
    return copytree(recorded, tmp_path / "results")


def replayed(*arguments: object) -> Result:
    return CliRunner().invoke(replay_command, [*map(str, arguments)])


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
    said = replayed(results, "--out", tmp_path / "new")
    assert (said.exit_code, said.stdout) == (0, "8 runs replayed, all of them as recorded\n")
    for name in ("journal.jsonl", "header.json"):
        assert (tmp_path / "new" / name).read_text() == (results / name).read_text()
    assert replayed(tmp_path / "new", "--check").exit_code == 0, "the cassettes are there too"


def test_a_new_oracle_changes_verdicts_and_nothing_else(results: Path, tmp_path: Path) -> None:
    journal = (results / "journal.jsonl").read_text()
    edited(results, failed)
    assert replayed(results).exit_code == 3
    said = replayed(results, "--out", tmp_path / "new")
    assert said.exit_code == 0
    assert 'category: "task.outcome:older" -> ' in said.stderr
    assert said.stdout.endswith("8 runs replayed, 1 of them not as recorded\n")
    assert (tmp_path / "new" / "journal.jsonl").read_text() == journal, "measured times are kept"
    again = json.loads(replayed(results, "--out", tmp_path / "again", "--json").stdout)
    assert (len(again["drifted"]), again["written"]) == (1, str(tmp_path / "again"))


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda tree: tree.pop("cassette"), "was not recorded, so it cannot be replayed"),
        (lambda tree: tree["configuration"]["options"].update(temperature=1), "temperature"),
    ],
)
def test_another_conversation_is_refused(
    results: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], object], told: str
) -> None:
    edited(results, edit)
    said = replayed(results, "--out", tmp_path / "new")
    assert said.exit_code == 3
    assert told in said.stderr
    assert "Nothing written" in said.stderr
    assert not (tmp_path / "new").exists()


def test_verdicts_are_written_of_a_whole_evaluation_into_a_new_place(results: Path, tmp_path: Path) -> None:
    assert replayed(results, "0", "--out", tmp_path / "new").exit_code == 2
    assert replayed(results, "--strategy", "raw", "--out", tmp_path / "new").exit_code == 2
    said = replayed(results, "--out", results)
    assert said.exit_code == 2
    assert "holds an evaluation already" in said.stderr
    assert verdicts(results)
