"""Recorded replies once more, without a network: replayed, under other strategies, bisected, promoted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_at, quoting, verdicts, written_out
from tests.evals.provider import provider
from tests.samples import worked
from toolreel._cli import eval_command
from toolreel.evals import Results, evaluate, promoted_verdict
from toolreel_core.evals import ScriptKind


def said(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, [*map(str, arguments)])


def told(*arguments: object) -> dict[str, Any]:
    result = said(*arguments, "--json")
    assert result.exit_code == 0, result.output
    tree: dict[str, Any] = json.loads(result.stdout)
    return tree


def rejudge_runs(folder: Path, recorded: str, other: str) -> list[str]:
    """What becomes of each run of a strategy under another; why, where it is undecided."""
    runs = told("replay", folder, "--strategy", other)["runs"]
    return [run["undecided"] or run["fate"] for run in runs if run["replies of"] == recorded]


def key_of(folder: Path, strategy: str) -> str:
    """The key of the first run of a strategy."""
    records = Results.open(folder).records()
    return next(record.key for record in records if record.cell.strategy == strategy)


Recording = Callable[..., Path]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A server that plays a model in some wording, asked with a plan: the directory of its results."""

    def recorded(
        *,
        worded: Callable[[dict[str, Any]], dict[str, Any]] = dict,
        kinds: tuple[ScriptKind, ...] = ("good",),
        **axes: Any,  # noqa: ANN401 - of a plan
    ) -> Path:
        folder = tmp_path_factory.mktemp("results")
        with provider(kinds=kinds, worded=worded) as there:
            evaluate(plan_at(there.url, **axes), folder)
        return folder

    return recorded


@pytest.fixture(scope="module")
def judged(recording: Recording) -> Path:
    """Eight runs, good and bad ones."""
    return recording(kinds=("good", "bad"), scenarios=["happy_path", "chat_only"], trials=4)


@pytest.fixture(scope="module")
def quoted(recording: Recording) -> Path:
    """A model that quotes a call in its answer; ``reads`` takes it for one, ``raw`` does not."""
    strategies = ["reads", "raw"]
    return recording(worded=quoting, scenarios=["other_script"], strategies=strategies, trials=2)


@pytest.fixture(scope="module")
def written(recording: Recording) -> Path:
    """A model that writes its calls into its text, three times; ``reads`` hears them, ``raw`` does not."""
    return recording(worded=written_out, strategies=["raw", "reads"], trials=3)


ON_THE_MODEL: dict[str, Any] = {
    "cold": {"extends": "raw", "request": {"temperature": 0}},
    "held": {"extends": "raw", "config": {"constrained_calls": "response_format"}},
    "shown": {"extends": "raw", "config": {"tool_transforms": ["openai_tools_strip_function_descriptions"]}},
    "routed": {"extends": "raw", "request_overrides": {"provider": {"only": ["x"]}}},
}


@pytest.fixture(scope="module")
def plain(recording: Recording) -> Path:
    return recording(strategy=ON_THE_MODEL, trials=2)


TWO_SETTINGS = {
    "extends": "raw",
    "config": {"text_dialects": ["hermes_json"], "dialects_in_reasoning": True, "max_turns": 9},
    "request": {"top_p": 1},
}


def in_two_ways(reply: dict[str, Any]) -> dict[str, Any]:
    """A model that writes its first call into its text, and its second one into its reasoning."""
    changed = written_out(reply)
    message = changed["choices"][0]["message"]
    if "state_patch" in message["content"]:
        message |= {"content": "", "reasoning_content": message["content"]}
    return changed


@pytest.fixture(scope="module")
def two(recording: Recording) -> Path:
    """Three runs that are won under ``two`` alone, and three that are lost under ``raw``."""
    strategy = {"two": TWO_SETTINGS}
    folder = recording(worded=in_two_ways, strategies=["raw", "two"], trials=3, strategy=strategy)
    assert sorted(verdicts(folder)) == ["fail"] * 3 + ["pass"] * 3
    return folder


@pytest.fixture
def edited(judged: Path, tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], object]], Path]:
    """Makes a copy of the good and bad runs in which the first record is another."""

    def copied(edit: Callable[[dict[str, Any]], object]) -> Path:
        folder = copytree(judged, tmp_path / "results")
        path = folder / "journal.jsonl"
        first, *others = path.read_text().splitlines()
        tree = json.loads(first)
        edit(tree)
        path.write_text("\n".join((json.dumps(tree), *others)) + "\n")
        return folder

    return copied


Edited = Callable[[Callable[[dict[str, Any]], object]], Path]


def failed(tree: dict[str, Any]) -> None:
    """What an older oracle said."""
    older = {"result": "fail", "category": "task.outcome:older", "reasons": ["an older oracle said so"]}
    tree.update(older)
    tree["attempts"][-1].update(older)


def test_runs_that_are_judged_as_before_are_written_as_they_are(judged: Path, tmp_path: Path) -> None:
    shown = said("replay", judged, "--out", tmp_path / "new")
    assert (shown.exit_code, shown.stdout) == (0, "8 runs replayed, all of them as recorded\n")
    for name in ("journal.jsonl", "header.json"):
        assert (tmp_path / "new" / name).read_text() == (judged / name).read_text()
    assert said("replay", tmp_path / "new", "--check").exit_code == 0, "the cassettes are there too"


def test_a_new_oracle_changes_verdicts_and_nothing_else(edited: Edited, judged: Path, tmp_path: Path) -> None:
    results = edited(failed)
    assert said("replay", results).exit_code == 3
    shown = said("replay", results, "--out", tmp_path / "new")
    assert shown.exit_code == 0
    assert 'category: "task.outcome:older" -> ' in shown.stderr
    assert shown.stdout.endswith("8 runs replayed, 1 of them not as recorded\n")
    journal = (tmp_path / "new" / "journal.jsonl").read_text()
    assert journal == (judged / "journal.jsonl").read_text(), "measured times are kept"
    again = told("replay", results, "--out", tmp_path / "again")
    assert len(again["drifted"]) == 1


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda tree: tree.pop("cassette"), "was not recorded, so it cannot be replayed"),
        (lambda tree: tree["configuration"]["options"].update(temperature=1), "temperature"),
    ],
)
def test_another_conversation_is_refused(
    edited: Edited, tmp_path: Path, edit: Callable[[dict[str, Any]], object], reason: str
) -> None:
    shown = said("replay", edited(edit), "--out", tmp_path / "new")
    assert shown.exit_code == 3
    assert reason in shown.stderr
    assert "nothing written" in shown.stderr
    assert not (tmp_path / "new").exists()


def test_recoveries_come_from_the_same_replies(quoted: Path) -> None:
    assert verdicts(quoted) == ["pass", "pass", "fail", "fail"]
    assert rejudge_runs(quoted, "reads", "raw") == ["gained"] * 2
    shown = said("replay", quoted, "--strategy", "raw").stdout
    assert "reads -> raw: 2 runs, 2 gained, 0 lost, 0 unchanged, 0 undecided" in shown
    assert len(told("replay", quoted, key_of(quoted, "reads"), "--strategy", "raw")["runs"]) == 1


def test_losses_are_told_too_and_what_a_strategy_would_have_to_ask_for_is_undecided(written: Path) -> None:
    assert rejudge_runs(written, "reads", "raw") == ["lost"] * 3
    parted = ["it parts from the recording at request 2 by messages"] * 3
    assert rejudge_runs(written, "raw", "reads") == parted
    assert rejudge_runs(written, "reads", "deaf") == parted


@pytest.mark.parametrize("strategy", ON_THE_MODEL)
def test_what_acts_on_the_model_alone_is_not_called_unchanged(strategy: str, plain: Path) -> None:
    """Its recorded replies are those to another question, so nothing is known before the model is asked."""
    kind = "tools" if strategy in {"shown", "held"} else "options"
    assert rejudge_runs(plain, "raw", strategy) == [f"it parts from the recording at request 1 by {kind}"] * 2


def test_settings_that_are_needed_together_are_found_and_nothing_else(two: Path) -> None:
    tree = told("bisect", two, "--to", "two")
    assert tree["from"] == {"raw": {"gained": 3, "lost": 0, "unchanged": 0, "undecided": 3}}
    for run in tree["runs"]:
        if run["fate"] == "gained":
            assert run["replies of"] == "two"
            assert {*run["settings"].split()} == {
                "config.text_dialects",
                "config.dialects_in_reasoning",
            }
        else:
            assert run["undecided"] == "it parts from the recording at request 2 by messages"
    assert [(key["alone"], key["together"]) for key in tree["settings"]] == [("0/3", "3/3")] * 2


def test_a_setting_that_suffices_alone_is_the_whole_set(written: Path) -> None:
    tree = told("bisect", written, "--to", "reads")
    assert {run["settings"] for run in tree["runs"] if run["fate"] == "gained"} == {"config.text_dialects"}
    assert [(key["alone"], key["together"]) for key in tree["settings"]] == [("3/3", "0/3")]
    gained = next(run for run in tree["runs"] if run["fate"] == "gained")
    assert (gained["lost by"], gained["scenario"]) == ("loop.no_tool_calls", "happy_path")


def test_what_a_strategy_breaks_is_bisected_the_other_way_round(two: Path) -> None:
    shown = said("bisect", two, "--from", "two", "--to", "raw")
    assert shown.exit_code == 0, shown.output
    assert "two -> raw: 6 runs, 0 gained, 3 lost, 0 unchanged, 3 undecided" in shown.stdout
    assert "No run is turned" in shown.stdout


def test_a_directory_without_a_run_is_told(two: Path, tmp_path: Path) -> None:
    copytree(two, tmp_path / "none")
    (tmp_path / "none" / "journal.jsonl").write_text("")
    shown = said("replay", tmp_path / "none", "--check")
    assert shown.exit_code == 2, shown.output
    assert shown.stderr.endswith("none: no run has ended yet\n")


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"), worked("a mistake in a command", "evaluations")
)
def test_mistakes_are_told_in_a_sentence(
    two: Path, monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(two)
    shown = said(command, two, *arguments)
    assert shown.exit_code == 2, shown.output
    assert sentence in shown.stderr


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """Plain pytest, in somebody's project that has nothing else."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder))
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_failure_becomes_a_test_that_documents_it(quoted: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    key = key_of(quoted, "reads")
    shown = said("promote", quoted, key[:12], "--to", tests)
    assert shown.exit_code == 0, shown.output
    name = f"other_script_reads_{key[:8]}"
    assert shown.stdout.splitlines()[0].endswith(f"test_{name}.py asserts: fail loop.repeated_call")
    assert sorted(path.name for path in tests.iterdir()) == [name, f"test_{name}.py"]
    ran = pytest_in(tests)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout
    test = tests / f"test_{name}.py"
    test.write_text(test.read_text().replace('"fail"', '"pass"'))
    with pytest.raises(AssertionError):
        run_path(str(test))[f"test_{name}"]()


def test_nothing_is_overwritten(quoted: Path, tmp_path: Path) -> None:
    key = key_of(quoted, "raw")
    assert said("promote", quoted, key, "--to", tmp_path).exit_code == 0
    name = f"other_script_raw_{key[:8]}"
    assert (tmp_path / f"test_{name}.py").exists()
    assert promoted_verdict(tmp_path / name).result == "pass"
    again = said("promote", quoted, key, "--to", tmp_path)
    assert again.exit_code == 2
    assert "exists already; it may be the test of this run" in again.stderr
    assert "4 runs have a key that begins with ''" in said("promote", quoted, "", "--to", tmp_path).stderr, (
        "a key names one"
    )
    assert "0 runs have a key that begins with 'x'" in said("promote", quoted, "x", "--to", tmp_path).stderr
