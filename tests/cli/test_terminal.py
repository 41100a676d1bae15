"""Colour, the spinner and the layout: on a terminal, and not in a pipe."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import (
    COMMAND,
    LOOKING_UP,
    READY,
    WORKSPACE,
    attended,
    environment,
    on_terminal,
    run_at,
)
from tests.patience import NEVER
from tests.replay.sessions import cassette
from tests.servers.chat_server import Answer, chunk, replying, serving, streaming

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text: str) -> str:
    return ESCAPES.sub("", text)


def test_a_terminal_gets_colour_and_lines_that_fit_it(tmp_path: Path) -> None:
    code, shown = on_terminal("demo", cwd=tmp_path)
    assert code == 0
    assert "\x1b[" in shown
    lines = plain(shown).splitlines()
    assert max(map(len, lines)) <= 80
    assert "system      You are a release assistant. You work on the workspace with tools." in lines
    assert "            Write each tool call as a ```json block and nothing else. When a" in lines


@pytest.mark.parametrize("arguments", [("presets",), ("replay", "kept", "--json")])
def test_a_reader_that_leaves_the_pipe_is_no_error(arguments: tuple[str, ...], tmp_path: Path) -> None:
    for path in cassette("workspace").parent.iterdir():
        shutil.copy(path, tmp_path / path.name.replace("local--qwen2.5-coder-1.5b", "kept"))
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        command = [*COMMAND, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=closed, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="writes to /dev/full")
@pytest.mark.parametrize("option", ["--version", "--help", "presets", "doctor"])
def test_a_full_disk_under_stdout_is_told(option: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        command, pipe = [*COMMAND, option], subprocess.PIPE
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=pipe, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (2, b"error: [Errno 28] No space left on device\n")


def test_a_path_that_no_file_system_takes_is_told(tmp_path: Path) -> None:
    command = [*COMMAND, "replay", "a" * 300]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stderr[:38]) == (2, b"error: [Errno 36] File name too long: ")


def test_a_terminal_shows_a_streamed_reply_as_it_comes(tmp_path: Path) -> None:
    thought = 'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Let me see."}}]}\n\n'
    pieces = (thought, chunk("It is"), 0.3, chunk(" \n  a draft. "), 0.3, chunk("\x1b[31m\x07", "stop"))
    with serving(streaming(*pieces), streaming(*pieces)) as server:
        base = (*run_at(server), "--set=stream=final")
        code, shown = on_terminal(*base, cwd=tmp_path)
        _, as_machine = on_terminal(*base, "--json", cwd=tmp_path)
    assert code == 0
    said = plain(shown)[plain(shown).index("Let me see.") :]
    assert said.startswith("Let me see.\nIt is \n  a draft. \\x1b[31m\\x07\nturn 1: reply in ")
    assert "\x1b[31m" not in shown
    assert json.loads(as_machine.splitlines()[-1])["completed"]


def test_a_streamed_reply_that_breaks_off_leaves_its_line_to_the_spinner(tmp_path: Path) -> None:
    called = 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"hidden"}}]}}]}\n\n'
    answers = (streaming(chunk("It is"), called, ends=False), streaming(chunk("It is a draft.", "stop")))
    with serving(*answers) as server:
        base = (*run_at(server), "--set=stream=final", "--set=retry_base_ms=200")
        code, shown = on_terminal(*base, cwd=tmp_path)
    assert code == 0
    seen = plain(shown)
    assert re.search(r"It is\n\s*turn 1: no reply in \d+ ms\n[⠀-⣿] turn 1: try 1 failed", seen)
    assert "hidden" not in seen
    assert re.search(r"It is a draft\.\nturn 1: reply in \d+ ms\nmodel       m", seen)


# What a terminal shows of a run and of an evaluation while they run, and that nothing of it stays.


COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SHOWN, HIDDEN = "\x1b[?25h", "\x1b[?25l"
"""What makes the cursor visible, and what hides it."""
LIMITS = ("--set", "max_cost=0.5", "--set", "max_wall_ms=90000", "--set", "max_total_tokens=1000")


def billed(reply: Mapping[str, Any]) -> Answer:
    """A reply that takes a while, and has tokens and a cost."""
    usage = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50, "cost": 0.025}
    return replace(replying({**reply, "usage": usage}), delay=0.4)


def running(
    cwd: Path,
    *more: str,
    columns: int = 80,
    **given: Any,  # noqa: ANN401 - of on_terminal
) -> tuple[int, str]:
    """A run on a terminal."""
    with serving(billed(LOOKING_UP), billed(READY)) as server:
        base = (*run_at(server, "Which status?"), *WORKSPACE)
        return on_terminal(*base, *more, cwd=cwd, columns=columns, **given)


def live(shown: str) -> str:
    """What was shown before the report."""
    return plain(shown).partition("model       m")[0]


def test_turns_calls_times_rates_costs_and_what_is_left_of_the_limits(tmp_path: Path) -> None:
    code, shown = running(tmp_path, *LIMITS, columns=120)
    assert code == 0
    seen = live(shown)
    assert re.search(r"turn 1: reply in \d+ ms, 40 \+ 10 tokens\n", seen)
    assert re.search(r"turn 1: state_get in \d+ ms\n", seen)
    did = r"turns 2 of 12, tool calls 1, tokens 40 \+ 10 of 1,000, cost 0\.025 of 0\.5"
    assert re.search(rf"{did}, \d+ tokens/s, [\d ms.in]+ left", seen)


@pytest.mark.parametrize("columns", [24, pytest.param(40, marks=pytest.mark.slow)])
def test_a_narrow_terminal_gets_lines_that_fit(tmp_path: Path, columns: int) -> None:
    code, shown = running(tmp_path, *LIMITS, columns=columns)
    assert code == 0
    assert "left" in live(shown), "the figures are wrapped"
    assert max(map(len, live(shown).splitlines())) <= columns


def test_no_colour_where_none_is_wanted(tmp_path: Path) -> None:
    code, shown = running(tmp_path, env={"NO_COLOR": "1"})
    assert code == 0
    assert "turn 1: waiting for the model" in plain(shown)
    codes = {number for found in COLOURS.findall(shown) for number in found[2:-1].split(";")}
    assert codes <= {"", "0", "1", "2"}, "weights alone"


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(tmp_path: Path) -> None:
    code, shown = running(tmp_path, env={"TERM": "dumb"})
    assert code == 0
    assert "\x1b" not in shown
    assert "turn 1: waiting for the model\nturn 1: running state_get\nturn 2: waiting" in shown


def test_ctrl_c_leaves_the_terminal_clean(tmp_path: Path) -> None:
    with serving(billed(LOOKING_UP), Answer(delay=NEVER)) as server:
        pressed: list[bool] = []

        def press(written: bytes, process: subprocess.Popen[bytes], _: int) -> None:
            if not pressed and b"turn 2: waiting" in written and len(server.seen) == 2:
                process.send_signal(signal.SIGINT)
                pressed.append(True)

        code, shown = attended((*run_at(server, "Which status?"), *WORKSPACE), tmp_path, press)
    assert code == 130
    assert shown.rindex(SHOWN) > shown.rindex(HIDDEN), "the cursor is visible again"
    assert "error: interrupted from the keyboard" in plain(shown)
    report = plain(shown)[plain(shown).rindex("model       m") :]
    assert "waiting for the model" not in report


PLAN = """
[eval]
add_models = ["m"]
strategies = ["production"]
scenarios = ["chat_only"]
trials = 2
jobs = 1
[budget]
max_cost = 5.0
[prices."m"]
prompt = 1.0
completion = 1.0
"""


def evaluating(cwd: Path, *answers: Answer) -> tuple[int, str]:
    """An evaluation on a terminal."""
    (cwd / "plan.toml").write_text(PLAN)
    with serving(*answers) as server:
        command = ("eval", "run", "plan.toml", "--out", "out", "--base-url", server.url)
        return on_terminal(*command, cwd=cwd, columns=120, env={"OPENROUTER_API_KEY": "none"})


def test_an_evaluation_shows_how_far_it_is_and_what_it_costs(tmp_path: Path) -> None:
    _, shown = evaluating(tmp_path, billed(READY), billed(READY))
    seen = plain(shown).partition("made: ")[0].partition("lists them).\n")[2]
    assert re.search(r"[12]/2 +0:00:\d\d +[-:\d]+ +[12] FAIL, total cost 0\.0(25|5) of 5\s", seen)
    assert max(map(len, seen.splitlines())) <= 120
