"""Recorded sessions as scenarios: the real recordings in cassettes/, and sessions made for the test."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from toolreel import FileJournal, LoopConfig, Plan, Ports, PythonTools, run, speak, tool
from toolreel._cli import check_command, from_command
from toolreel._internal import EvalPlanError, toml_text
from toolreel.evals import Results, evaluate, load_eval_plan, read_scenarios, scenario_of_session
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core._jsontext import Json, value_at_json_pointer

CASSETTES = Path(__file__).resolve().parents[3] / "cassettes"
MODEL = "local--qwen2.5-coder-1.5b"
WITH_TOOLS = ("empty-final", "false-claim", "mcp-time", "nudged", "recovered", "tool-error", "workspace")


def made(*arguments: object) -> Result:
    return CliRunner().invoke(from_command, [*map(str, arguments)])


def check(path: Path) -> Result:
    return CliRunner().invoke(check_command, [str(path), "--trials", "2"])


@pytest.mark.parametrize(
    ("name", "ending"),
    [("nudged", ".yaml"), ("nudged", ".journal.jsonl"), *((name, "") for name in WITH_TOOLS)],
)
def test_a_real_recording_becomes_a_scenario_that_holds(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    said = made(CASSETTES / name / f"{MODEL}{ending}", "--out", path)
    assert said.exit_code == 0, said.stderr
    assert check(path).exit_code == 0
    text, told = path.read_text(), " ".join(said.stderr.split())
    for decision in scenario_of_session(CASSETTES / name / f"{MODEL}{ending}")[1]:
        assert f"# Decide: {decision}\n" in text
        assert f"Decide: {decision}." in told


def test_what_the_session_did_is_what_is_checked() -> None:
    tree, _ = scenario_of_session(CASSETTES / "workspace" / MODEL)
    arguments = {"path": "/release/status", "value": "ready", "version": 7}
    assert tree["check"] == [
        {"effects": [{"tool": "state_patch", "with": arguments}]},
        {"called": "state_get", "layer": "exercise"},
    ]
    assert tree["name"] == "local_qwen2_5_coder_1_5b"


def test_a_session_without_tools_makes_no_scenario(tmp_path: Path) -> None:
    said = made(CASSETTES / "chat" / f"{MODEL}.yaml", "--out", tmp_path / "it.toml")
    assert said.exit_code == 2
    assert "the session has no tools, so there is nothing to check" in said.stderr
    for ending in ("yaml", "journal.jsonl"):
        missing = made(tmp_path / f"none.{ending}")
        assert (missing.exit_code, "there is no such" in missing.stderr) == (2, True)


def find_stock(part: str) -> dict[str, Any]:
    """How many there are."""
    COUNT.append(part)
    return {"pieces": 3 + len(COUNT), "note": None if part == "pin" else "{wow}"}


COUNT: list[str] = []


@tool(read_only=False)
def order(part: str, pieces: int) -> str:
    """Order some."""
    return f"{pieces} of {part} ordered"


def conversation(path: Path) -> Path:
    """A journal of three exchanges: the same call with two results, one with a null, and one that fails."""
    COUNT.clear()
    tools = PythonTools([find_stock, order])
    plan = Plan.of(
        model="m",
        messages=[
            {"role": "system", "content": "You sell {things}."},
            {"role": "user", "content": "How many pins are there?"},
        ],
        tools=tools.surface,
        config=LoopConfig(tool_use_mode="relaxed"),
    )
    endpoint = ScriptedEndpoint(
        [
            calling(("find_stock", {"part": "pin"})),
            saying("There are 4."),
            calling(("find_stock", {"part": "pin"}), ("find_stock", {"part": "nail"})),
            calling(("order", {"part": "pin"})),
            calling(("order", {"part": "pin", "pieces": 5})),
            saying("I ordered 5, since there are 6 nails."),
            saying("You are welcome."),
        ]
    )
    ports = Ports(endpoint, tools)
    with FileJournal(path, plan) as journal:
        done = run(plan, ports, journal=journal)
        done = speak(done, "Order as many as there are now.", ports, journal=journal)
        speak(done, "Thanks for {it}!", ports, journal=journal)
    return path


def test_several_turns_and_results_are_carried_over(tmp_path: Path) -> None:
    tree, decisions = scenario_of_session(conversation(tmp_path / "talk.journal.jsonl"), "pins")
    assert decisions == [
        "by their names, find_stock only reads, order does something (effect = true)",
        "1 call failed in the recording; the good script lacks them",
    ]
    assert tree["user"] == [
        "How many pins are there?",
        "Order as many as there are now.",
        "Thanks for {{it}}!",
    ]
    assert tree["system"] == "You sell {{things}}."
    assert value_at_json_pointer(tree, "/tool/0/name") == "find_stock"
    assert value_at_json_pointer(tree, "/tool/0/answers") == [
        {"when": {"part": "pin"}, "then": {"pieces": 4, "note": None}, "times": 1},
        {"when": {"part": "pin"}, "then": {"pieces": 5, "note": None}},
        {"when": {"part": "nail"}, "then": {"pieces": 6, "note": "{{wow}}"}},
    ]
    assert tree["check"] == [
        {"effects": [{"tool": "order", "with": {"part": "pin", "pieces": 5}}]},
        {"called": "find_stock", "layer": "exercise"},
    ]


def test_the_file_is_the_draft_and_runs_in_an_evaluation(tmp_path: Path) -> None:
    journal = conversation(tmp_path / "talk.journal.jsonl")
    path = tmp_path / "pins.toml"
    assert made(journal, "--name", "pins", "--out", path).exit_code == 0
    assert "null" not in path.read_text().split("\n", 1)[1]
    tree: dict[str, Json] = {
        "eval": {
            "add_models": ["scripted:good", "scripted:bad"],
            "scenarios": [str(path)],
            "strategies": ["raw"],
        }
    }
    evaluate(load_eval_plan(None, tree, environ={}), tmp_path / "results")
    found = [record.verdict.result for record in Results.open(tmp_path / "results").records()]
    assert found == ["pass", "fail"]
    assert read_scenarios(path)[0].begin("1").follow_ups[-1] == "Thanks for {it}!"


def test_a_name_is_checked(tmp_path: Path) -> None:
    assert "expected small letters" in made(CASSETTES / "workspace" / MODEL, "--name", "A b").stderr
    tools = PythonTools([order])
    silent = Plan.of(model="m", messages=[{"role": "system", "content": "x"}], tools=tools.surface)
    with FileJournal(tmp_path / "it.journal.jsonl", silent) as journal:
        run(silent, Ports(ScriptedEndpoint([saying("x")]), tools), journal=journal)
    with pytest.raises(EvalPlanError, match="the user said nothing"):
        scenario_of_session(tmp_path / "it.journal.jsonl")


@given(st.text())
def test_a_file_is_read_again_whatever_its_comments_and_values_are(text: str) -> None:
    assert tomllib.loads(toml_text({"user": text, text: [text]}, [text, text])) == {
        "user": text,
        text: [text],
    }
