"""Colour, the spinner and the layout: on a terminal, and not in a pipe."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, LOOKING_UP, READY, WORKSPACE, environment, on_terminal, toolreel
from tests.replay.sessions import cassette
from tests.servers.chat_server import chunk, replying, serving, streaming

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


def test_a_pipe_gets_neither_colour_nor_wrapped_lines(tmp_path: Path) -> None:
    said = toolreel("demo", cwd=tmp_path)
    assert "\x1b" not in said.stdout + said.stderr
    assert "When state_patch succeeds, you are finished." in said.stdout
    assert max(map(len, said.stdout.splitlines())) > 80


@pytest.mark.parametrize("arguments", [("presets",), ("replay", "kept"), ("replay", "kept", "--json")])
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


def test_the_spinner_shows_the_turn_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving(replace(replying(LOOKING_UP), delay=0.5), replace(replying(READY), delay=0.5)) as server:
        base = ("run", "Which status?", "--model", "m", "--base-url", server.url, *WORKSPACE)
        code, shown = on_terminal(*base, cwd=tmp_path)
    assert code == 0
    seen = plain(shown)
    assert re.search(r"[⠀-⣿] turn 1: waiting for the model +0:00:0\d", seen)
    assert re.search(r"[⠀-⣿] turn 2: waiting for the model +0:00:0\d", seen)
    assert re.search(r"\r\x1b\[2K", shown), "the spinner's line was not cleared"
    report = seen[seen.index("model       m") :]
    assert "waiting" not in report


def test_a_terminal_shows_a_streamed_reply_as_it_comes(tmp_path: Path) -> None:
    thought = 'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Let me see."}}]}\n\n'
    pieces = (
        thought,
        chunk("It is"),
        0.3,
        chunk(" \n  a draft. "),
        0.3,
        chunk("\x1b[31m\x07", "stop"),
    )
    with serving(streaming(*pieces), streaming(*pieces)) as server:
        base = ("run", "hi", "--model", "m", "--base-url", server.url, "--stream")
        code, shown = on_terminal(*base, cwd=tmp_path)
        _, as_machine = on_terminal(*base, "--json", cwd=tmp_path)
    assert code == 0
    said = plain(shown)[plain(shown).index("Let me see.") :]
    assert said.startswith("Let me see.\nIt is \n  a draft. \\x1b[31m\\x07\nmodel       m\n")
    assert "\x1b[31m" not in shown
    assert json.loads(as_machine.splitlines()[-1])["completed"]


def test_a_streamed_reply_that_breaks_off_leaves_its_line_to_the_spinner(tmp_path: Path) -> None:
    called = 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"hidden"}}]}}]}\n\n'
    answers = (streaming(chunk("It is"), called, ends=False), streaming(chunk("It is a draft.", "stop")))
    with serving(*answers) as server:
        base = (
            "run",
            "hi",
            "--model",
            "m",
            "--base-url",
            server.url,
            "--stream",
            "--set",
            "retry_base_ms=200",
        )
        code, shown = on_terminal(*base, cwd=tmp_path)
    assert code == 0
    seen = plain(shown)
    assert re.search(r"It is\n\s*turn 1: no reply in \d+ ms\n[⠀-⣿] turn 1: no reply, trying again", seen)
    assert "hidden" not in seen
    assert re.search(r"It is a draft\.\nmodel       m", seen)


def test_a_notice_is_wrapped_between_words(tmp_path: Path) -> None:
    with serving(replying(READY)) as server:
        base = ("run", "hi", "--model", "m", "--base-url", server.url)
        _, shown = on_terminal(*base, cwd=tmp_path, columns=40)
    first, second, *_ = plain(shown).partition("No provider is named")[2].splitlines()
    assert (first.rstrip(), second.split()[0]) == (", so no provider's", "presets")


@pytest.mark.parametrize("columns", [20, 132, pytest.param(40, marks=pytest.mark.slow)])
def test_the_layout_fits_narrow_and_wide_terminals(tmp_path: Path, columns: int) -> None:
    code, shown = on_terminal("demo", "--driver", "sync", cwd=tmp_path, columns=columns)
    assert code == 0
    report = plain(shown).partition("replay ")[0]
    assert max(map(len, report.splitlines())) <= max(columns, 34)
