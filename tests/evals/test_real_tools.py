"""Scenarios with real tools and servers: they run once, and replays need none of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from tests.evals.evaluations import plan_at
from tests.evals.own_scenario_files import evaluated_file, written
from tests.evals.provider import provider
from toolreel._internal import AdapterError
from toolreel.evals import (
    Results,
    evaluate,
    load_eval_plan,
    plan_of_header,
    promote,
    promoted_verdict,
    proof_of,
    read_scenarios,
    rejudge_runs,
    replay_runs,
)
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json

TOOLS = '''\
def stock(part: str) -> int:
    """How many of a part there are."""
    return 3


def order(part: str, pieces: int) -> str:
    """Order some."""
    return "ordered" if pieces < 6 else 1 / 0
'''
SERVER = '''\
from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")
NOTES = []


@server.tool()
def note(text: str) -> int:
    """Note a text; says how many there are."""
    NOTES.append(text)
    return len(NOTES)


server.run("stdio")
'''
FILES = Path(__file__).with_name("files")
SCENARIO = (FILES / "order_pins.toml").read_text("utf-8")
WITHOUT_SERVER = "".join(
    line
    for line in SCENARIO.splitlines(keepends=True)
    if not line.startswith(("mcp", '  { tool = "mcp', '  { call = "mcp'))
).replace(', "mcp_notes_note"', "")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    home.mkdir()
    written(home, TOOLS, "pin_tools.py")
    written(home, SERVER, "notes_server.py")
    servers = {"notes": {"command": sys.executable, "args": [str(home / "notes_server.py")]}}
    written(home, json.dumps({"mcpServers": servers}), "mcp.json")
    written(home, SCENARIO, "noted.toml")
    written(home, WITHOUT_SERVER, "order.toml")
    yield home
    sys.modules.pop("pin_tools", None)


def test_a_run_is_recorded_and_replayed_without_its_tools(folder: Path, tmp_path: Path) -> None:
    results = evaluated_file(folder / "noted.toml", tmp_path / "results")
    rmtree(folder)
    plan = plan_of_header(results.header)
    records = [*results.records()]
    assert [record.verdict.result for record in records] == ["pass", "pass"]
    (attempt,) = records[1].attempts
    # Each run has a server of its own: the note of the second trial is the first of its server.
    assert [result.name for result in attempt.results] == ["stock", "order", "mcp_notes_note"]
    assert attempt.results == records[0].attempts[0].results
    assert [again.drift for again in replay_runs(results, plan)] == [""] * 2
    assert [one.fate for one in rejudge_runs(results, plan, "baseline")] == ["unchanged"] * 2
    test, _ = promote(results, plan, records[0].key, tmp_path / "tests")
    assert promoted_verdict(test.with_name(test.stem.removeprefix("test_"))).result == "pass"


def test_each_attempt_gets_the_results_that_it_had(folder: Path, tmp_path: Path) -> None:
    came = count(1)

    def astray_at_first(reply: dict[str, Any]) -> dict[str, Any]:
        """Asks for another part first, then says nothing, so that the run is tried again."""
        empty = {"message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
        match next(came):
            case 1:
                other: dict[str, Any] = json.loads(json.dumps(reply).replace("pin", "nail"))
                return other
            case 2:
                return {**reply, "choices": [empty]}
            case _:
                return reply

    results = evaluated_file(folder / "order.toml", tmp_path / "results", worded=astray_at_first)
    first, _ = results.records()
    assert [attempt.results[0].arguments for attempt in first.attempts] == [
        '{"part":"nail"}',
        '{"part":"pin"}',
    ]
    found = [*rejudge_runs(results, plan_of_header(results.header), "baseline")]
    assert [(one.fate, one.why) for one in found] == [("unchanged", "")] * 2


def test_a_call_that_was_not_recorded_is_a_mismatch(folder: Path, tmp_path: Path) -> None:
    evaluated_file(folder / "order.toml", tmp_path / "results")
    journal = tmp_path / "results" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('{\\"part\\":\\"pin\\",', '{\\"part\\":\\"nail\\",'))
    results = Results.open(tmp_path / "results")
    plan = plan_of_header(results.header)
    record = results.records()[0]
    assert "the record has no result of it" in next(iter(replay_runs(results, plan))).drift
    found = rejudge_runs(results, plan, "baseline")
    assert [one.fate for one in found] == ["undecided"] * 2
    with pytest.raises(ReplayMismatch, match="the run calls"):
        promote(results, plan, record.key, tmp_path / "tests")


def test_the_proof_runs_the_tools(folder: Path) -> None:
    (one,) = read_scenarios(folder / "order.toml")
    proof = proof_of(one)
    assert proof.holds
    assert [len(each.verdicts) for each in proof.scripts] == [2, 2]


def test_a_tool_that_exits_ends_its_call_and_not_the_program(folder: Path) -> None:
    written(folder, TOOLS.replace("return 3", "raise SystemExit(0)"), "pin_tools.py")
    (one,) = read_scenarios(folder / "order.toml")
    proof = proof_of(one)
    assert not proof.holds
    assert "stock was never called with success" in str(proof)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("pin_tools.py:order", "pin_tools.py:ordr", "no attribute 'ordr'; did you mean 'order'"),
        ('effects = ["order"]', 'effects = ["ordr"]', "there is no real tool 'ordr'"),
        ('python = ["pin_tools.py:stock", "pin_tools.py:order"]', "", r'write python = \["tools.py'),
    ],
)
def test_real_tools_that_are_none_are_told(folder: Path, old: str, new: str, told: str) -> None:
    assert old in WITHOUT_SERVER
    path = written(folder, WITHOUT_SERVER.replace(old, new), "other.toml")
    with pytest.raises(AdapterError, match=told):
        read_scenarios(path)


KEYED = '''\
from pathlib import Path

from toolreel import current_call


def pay(euros: int) -> str:
    """Pay."""
    with Path(__file__).with_name("keys.txt").open("a") as keys:
        keys.write(current_call().key + "\\n")
    return "paid"
'''


def test_no_two_runs_share_an_idempotency_key(tmp_path: Path) -> None:
    """The plan of a run is the same at both endpoints, and in an evaluation that is made again."""
    written(tmp_path, KEYED, "keyed_tools.py")
    path = written(tmp_path, (FILES / "pay_once.toml").read_text("utf-8"), "pay.toml")
    chosen: Json = {
        "add_models": ["scripted:good"],
        "strategies": ["raw"],
        "scenarios": [str(path)],
        "trials": 2,
    }
    servers: Json = {name: {"base_url": "http://127.0.0.1:1"} for name in ("one", "two")}
    plan = load_eval_plan(None, {"eval": chosen, "endpoints": servers}, environ={})
    for out in ("first", "again"):
        assert evaluate(plan, tmp_path / out).complete
    assert [one.verdict.result for one in Results.open(tmp_path / "again").records()] == ["pass"] * 4
    keys = (tmp_path / "keys.txt").read_text().split()
    assert len(keys) == len({*keys}) == 2 * 2 * 2 * 2
    sys.modules.pop("keyed_tools", None)


def test_signatures_and_streams_are_replayed(tmp_path: Path) -> None:
    names = ("signed_reasoning", "streamed_calls")
    with provider(kinds=("good",)) as server:
        plan = plan_at(server.url, names, strategies=["baseline"])
        evaluate(plan, tmp_path / "results")
    found = [*replay_runs(Results.open(tmp_path / "results"), plan)]
    assert {one.record.cell.scenario: one.record.verdict.result for one in found} == dict.fromkeys(
        names, "pass"
    )
    assert all(one.drift == "" and one.now == one.record for one in found)
