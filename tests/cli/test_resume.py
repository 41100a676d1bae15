"""Recordings that are replayed by rules, and runs that ``toolreel resume`` goes on with."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from tests.cli.commands import (
    COMMAND,
    LOOKING_UP,
    READY,
    WORKSPACE,
    assert_mistake,
    environment,
    run_at,
    said_by_each,
    toolreel,
)
from tests.patience import NEVER, eventually
from tests.servers.chat_server import Answer, replying, serving
from toolreel._cli import LiveSession, LiveTarget
from toolreel._driver import Always
from toolreel._replay import replay
from toolreel.demo import workspace
from toolreel.testing import saying
from toolreel.tools import Tool, Toolbox, ToolLike
from toolreel_core._plan import Plan


def test_rules_in_a_recording_that_fit_nothing_are_a_mistake(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), replying(READY)) as server:
        toolreel(*run_at(server, "Which status?"), *WORKSPACE, "--record", "kept", cwd=tmp_path)
    cassette = tmp_path / "kept.yaml"
    rule = "vary: [{pattern: 'Which [a-z]+', becomes: 'Which <what>'}]"
    cassette.write_text(cassette.read_text().replace("version: 1\n", f"version: 1\n{rule}\n"))
    used = toolreel("replay", "kept", "--json", cwd=tmp_path)
    assert used.data["replay"] == {"driver": "sync", "identical": True}
    cassette.write_text(cassette.read_text().replace("Which [a-z]+", "What [a-z]+"))
    unused = toolreel("replay", "kept", cwd=tmp_path)
    assert "fits no request of this session: correct or remove it" in unused.stderr
    assert unused.code != 0


# A run that was killed by the system is gone on with by ``toolreel resume``.


def test_a_killed_run_is_resumed_replays_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    part = tmp_path / "kept.journal.jsonl.part"
    with serving(replying(LOOKING_UP), Answer(delay=NEVER), replying(READY)) as server:
        live = ("--base-url", server.url, *WORKSPACE)
        with subprocess.Popen(
            [*COMMAND, "run", "Which status?", "--model", "m", *live, "--record", "kept"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            eventually(lambda: len(server.seen) == 2, "the second request")
            process.send_signal(signal.SIGKILL)
        assert [path.name for path in tmp_path.iterdir()] == [part.name]
        part.write_bytes(part.read_bytes().rstrip(b" \n") + b'\n{"n":3,"kind":"send_request","fp":"')
        hint, alone, strange, said, again, replayed = said_by_each(
            [
                ("replay", part.name.removesuffix(".part")),
                ("resume", "kept", "--base-url", server.url),
                ("resume", "unknown", *live),
                ("resume", "kept", *live),
                ("resume", part.name, *live, "--json"),
                ("replay", "kept", *WORKSPACE),
            ],
            tmp_path,
        )
    assert_mistake(hint, "of a run that did not end: go on with `toolreel resume`")
    assert_mistake(alone, "the run had a tool", "there are none", code=3)
    assert_mistake(strange, "unknown.journal.jsonl: there is no such journal")
    assert (said.code, said.stderr) == (0, "")
    assert "resumed     after 2 events, 1 new\n" in said.stdout
    assert '            ← {"path":"/release/status","value":"draft","version":7}' in said.stdout
    assert "answer      It is a draft." in said.stdout
    assert "next: toolreel replay kept.journal.jsonl" in said.stdout
    assert len(server.seen) == 3
    assert server.seen[1].body == server.seen[2].body
    assert again.data["resumed"] == {"before": 3, "new": 0, "cut": None}
    assert replayed.code == 0
    assert (tmp_path / "kept.journal.jsonl.cut").exists()


LIMITED = """
import resource, runpy, sys
sys.dont_write_bytecode = True  # half of it would be left for others
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
runpy.run_module("toolreel", run_name="__main__")
"""


def test_a_run_whose_disk_is_full_shows_its_outcome_stops_and_is_resumed(tmp_path: Path) -> None:
    long = saying("It is a draft." + "x" * 50_000)
    with serving(replying(LOOKING_UP), replying(long), replying(READY)) as server:
        live = ("--base-url", server.url, *WORKSPACE)
        run = ("run", "Which status?", "--model", "m", *live, "--record", "kept", "--durable")
        none = toolreel(*run, cwd=tmp_path, program=LIMITED.format(limit=1_000))
        assert [*tmp_path.iterdir()] == [], "it did not even begin"
        said = toolreel(*run, cwd=tmp_path, program=LIMITED.format(limit=40_000))
        part = "kept.journal.jsonl.part"
        assert [path.name for path in tmp_path.iterdir()] == [part]
        again = toolreel("resume", part, *live, cwd=tmp_path)
    assert_mistake(none, "kept.journal.jsonl: cannot be written: File too large")
    assert said.code == 2
    assert "Traceback" not in said.stderr
    assert "outcome     completed: the model gave a final answer" in said.stdout
    assert "the recording was not saved: kept.journal.jsonl: cannot be written: File too large" in said.stderr
    assert f"what was recorded is in {part}: toolreel resume {part} continues the run" in said.stderr
    assert again.code == 0
    assert "resumed     after 2 events, 1 new" in again.stdout
    assert len(server.seen) == 3


def guarded() -> list[ToolLike]:
    return [
        Tool.of(tool.function if isinstance(tool, Tool) else tool, needs_approval=True)
        for tool in workspace()
    ]


def test_the_cassette_of_a_run_that_rested_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "kept.yaml"
    plan = Plan.of(model="m", messages="Which status?", tools=Toolbox(guarded()).surface)
    with serving(replying(LOOKING_UP), replying(READY)) as server:
        target = LiveTarget(server.url)
        assert LiveSession(target, guarded()).run(plan, path).saved
        resumed = LiveSession(target, guarded(), approver=Always(), durable=True).resume(path)
    assert (resumed.before, resumed.before + resumed.new) == (1, 4)
    assert resumed.saved == (path, tmp_path / "kept.journal.jsonl")
    assert replay(path).run == resumed.run
    assert replay(path).run.timing == resumed.run.timing
    assert len(resumed.run.timing.took) == 4
    assert replay(path).cassette == path


def test_a_cassette_of_another_run_makes_way(tmp_path: Path) -> None:
    path = tmp_path / "kept.yaml"
    plan = Plan.of(model="m", messages="Which status?", tools=Toolbox(guarded()).surface)
    with serving(replying(LOOKING_UP), replying(READY)) as server:
        target = LiveTarget(server.url)
        LiveSession(target, guarded()).run(plan, path)
        path.write_text(path.read_text().replace("Which status?", "What else?"))
        resumed = LiveSession(target, guarded(), approver=Always()).resume(path)
    assert resumed.saved == (tmp_path / "kept.journal.jsonl",)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept.journal.jsonl", "kept.yaml.old"]
    assert replay(path.with_suffix("")).run == resumed.run
