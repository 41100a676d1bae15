"""``toolreel eval run`` and ``toolreel eval replay``."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.commands import Said, assert_mistake, environment
from tests.evals.evaluations import KEY, LOCAL
from tests.evals.provider import Provider, provider
from tests.patience import HANG, NEVER
from toolreel._cli import eval_command
from toolreel.evals import Results

PROGRAM = """
import sys
from toolreel._cli import eval_command
eval_command(sys.argv[1:], prog_name="toolreel eval")
"""
SCRIPTED = (
    *("--model", "scripted:good", "--model", "scripted:bad", "--scenarios", "happy_path,no_tool_fits"),
)
SCENARIOS = "happy_path,no_tool_fits,date_and_size"


def evaluating(*arguments: str) -> Said:
    done = CliRunner().invoke(eval_command, arguments, env={"EVAL_KEY": KEY})
    return Said(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def at(far: Provider, *further: str) -> tuple[str, ...]:
    models = [word for model in LOCAL for word in ("--model", model)]
    where = ("--base-url", far.url, "--api-key-env", "EVAL_KEY", "--scenarios", SCENARIOS)
    return ("run", *models, *where, "--seeds", "--out", "results", *further)


@pytest.fixture
def far() -> Generator[Provider]:
    with provider() as told:
        yield told


def test_scripted_models_need_no_network_and_no_key() -> None:
    said = evaluating("run", *SCRIPTED, "--out", "my results")
    assert said.code == 0, said.stderr
    first, *others = said.stdout.splitlines()
    assert re.match(r"4 runs made: (2 OK, 2 FAIL|2 FAIL, 2 OK)$", first)
    assert others[:3] == [
        "results     my results",
        "next        toolreel eval summarize 'my results'",
        "            toolreel eval report 'my results'",
    ]
    assert len(others) == 3
    lines = said.stderr.splitlines()
    assert len(lines) == 4
    bad = "scripted:bad:default:production happy_path trial 1"
    assert any(re.match(rf"\[\d/4\] FAIL {bad} \d+ ms  task\.", line) for line in lines)

    key = next(each.key for each in Results.open("my results").records() if each.verdict.result == "fail")
    again = evaluating("replay", "my results", key[:12])
    assert (again.code, again.stderr) == (0, "")
    assert again.stdout.splitlines()[-1] == "1 run replayed, all of them as recorded"
    assert again.stdout.startswith(f"{key[:12]}  scripted:bad happy_path trial 1 production  fail: task.")
    assert evaluating("replay", "my results", "--json").data == {"replayed": 4, "drifted": []}

    done = evaluating("run", *SCRIPTED, "--out", "my results")
    assert (done.code, done.stderr) == (0, "4 of 4 runs have ended before\n")
    assert done.stdout.splitlines()[0] == "Nothing was left to be run."
    tree = evaluating("run", *SCRIPTED, "--trials", "2", "--out", "my results", "--json").data
    counts = {"asked_for": 8, "made": 4, "left": 0, "void": 0, "accepted_void": 0, "complete": True}
    assert tree == {"out": "my results", **counts, "shard": "", "stopped": ""}


REFUSED = ("--accept-void", "transport.forbidden", "--min-coverage")


def test_a_model_that_is_always_refused_leaves_a_complete_evaluation(far: Provider) -> None:
    """Never hidden: run and summarize say how many runs are void, and that they are accepted."""
    far.refused = LOCAL[1]
    assert evaluating(*at(far)).code == 3
    came = far.came
    said = evaluating(*at(far, *REFUSED, "0.5"))
    assert said.code == 0, said.stderr
    assert far.came == came
    told = "3 of 6 runs void and accepted (transport.forbidden)"
    assert told in said.stderr
    assert "6 of 6 runs have ended before" in said.stderr
    summed = evaluating("summarize", "results")
    assert summed.code == 0, summed.stderr
    assert f"accepted_void: {told}" in " ".join(summed.stdout.split())
    assert "void=3" in summed.stdout
    assert evaluating("report", "results").code == 0
    assert f"none has to be made again. {told}." in Path("results/report.html").read_text()
    tree = json.loads(evaluating("summarize", "results", "--json").stdout)
    assert (tree["complete"], tree["void"], tree["coverage"]) == (True, 3, 0.5)
    assert tree["accepted_void"] == 3
    compared = evaluating("compare", "results", "--by", "model", *LOCAL)
    assert compared.code == 0, compared.stderr


def test_a_key_that_is_missing_is_told_before_anything_is_made(tmp_path: Path) -> None:
    said = evaluating("run", "--model", "m", "--api-key-env", "NO_KEY", "--out", "r")
    assert_mistake(said, "the environment variable NO_KEY is not set")
    assert [*tmp_path.iterdir()] == []


def started(far: Provider, cwd: Path, *further: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *at(far, *further)],
        cwd=cwd,
        env=environment({"EVAL_KEY": KEY}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_one_interrupt_lets_what_is_under_way_end(far: Provider, tmp_path: Path) -> None:
    far.pace = 0.1
    with started(far, tmp_path, "--trials", "5", "--jobs", "2") as process:
        far.wait_for(6, process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert "Stopping: what is under way still ends; Ctrl-C again gives it up." in stderr
    assert "Incomplete (" in stderr
    assert "Traceback" not in stderr
    made = len(Results.open(tmp_path / "results").records())
    assert stdout.startswith(f"{made} runs made: ")
    assert far.ended.total() == made, "no run was broken off"
    far.pace = 0.0
    assert evaluating(*at(far, "--trials", "5")).code == 0
    assert far.ended.total() == 30


def test_a_second_interrupt_gives_up_what_is_under_way(far: Provider, tmp_path: Path) -> None:
    with started(far, tmp_path, "--trials", "5", "--jobs", "2") as process:
        far.wait_for(8, process)
        far.pace = NEVER
        far.wait_for(far.came + 1, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        # Two signals that wait to be heard are one: so not before the first was answered.
        assert any(line.startswith("Stopping: ") for line in process.stderr)
        assert process.poll() is None, "it waits for its runs"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert stdout == ""
    assert "Given up; every run that had ended is kept." in stderr
    assert "Traceback" not in stderr
    kept = len(Results.open(tmp_path / "results").records())
    far.pace = 0.0
    said = evaluating(*at(far, "--trials", "5", "--json"))
    assert (said.code, said.data["made"]) == (0, 30 - kept)


@pytest.mark.parametrize(("key", "times"), [("ollama", 1), (KEY, 0)])
def test_a_key_that_is_no_secret_is_named_once(far: Provider, key: str, times: int) -> None:
    done = CliRunner().invoke(eval_command, at(far), env={"EVAL_KEY": key})
    assert done.stderr.count("The value of EVAL_KEY is short, or what servers without keys take") == times
    assert [*Path("results").rglob("*.yaml")]


def test_without_verbosity_a_good_run_says_nothing_and_a_bad_one_what_is_wrong() -> None:
    done = evaluating("run", *SCRIPTED, "--out", "results", "--verbosity", "0")
    assert (done.code, done.stdout, done.stderr) == (0, "", "")
    again = evaluating("run", *SCRIPTED, "--trials", "2", "--out", "results", "--verbosity", "0")
    assert (again.code, again.stdout, again.stderr) == (0, "", "")
    usual = evaluating("run", *SCRIPTED, "--trials", "2", "--out", "results")
    assert "have ended before" in usual.stderr
    assert "Nothing was left to be run." in usual.stdout
