"""What a terminal shows of a run and of an evaluation while they run, and that nothing of it stays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import LOOKING_UP, READY, WORKSPACE, on_terminal
from tests.patience import NEVER
from tests.servers.chat_server import Answer, replying, serving

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
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
    answers: tuple[Answer, ...] = (),
    columns: int = 80,
    **given: Any,  # noqa: ANN401 - of on_terminal
) -> tuple[int, str]:
    """A run on a terminal."""
    with serving(*(answers or (billed(LOOKING_UP), billed(READY)))) as server:
        base = ("run", "Which status?", "--model", "m", "--base-url", server.url, *WORKSPACE)
        return on_terminal(*base, *more, cwd=cwd, columns=columns, **given)


def plain(text: str) -> str:
    return ESCAPES.sub("", text)


def live(shown: str) -> str:
    """What was shown before the report."""
    return plain(shown).partition("model       m")[0]


def test_turns_calls_times_rates_costs_and_what_is_left_of_the_limits(tmp_path: Path) -> None:
    code, shown = running(tmp_path, *LIMITS, columns=120)
    assert code == 0
    seen = live(shown)
    assert re.search(r"turn 1: reply in \d+ ms, 40 \+ 10 tokens\n", seen)
    assert re.search(r"turn 1: state_get in \d+ ms\n", seen)
    figures = (
        r"turn 2 of 12, 1 call, 40 \+ 10 of 1000 tokens, \d+ tokens/s, cost 0\.025 of 0\.5, [\d ms.in]+ left"
    )
    assert re.search(figures, seen)


@pytest.mark.parametrize("columns", [24, pytest.param(40, marks=pytest.mark.slow)])
def test_a_narrow_terminal_gets_lines_that_fit(tmp_path: Path, columns: int) -> None:
    code, shown = running(tmp_path, *LIMITS, columns=columns)
    assert code == 0
    assert "…" in live(shown), "long lines are cut"
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
    answers = (billed(LOOKING_UP), Answer(delay=NEVER))
    code, shown = running(tmp_path, answers=answers, interrupted_at="turn 2: waiting")
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


def evaluating(cwd: Path, *answers: Answer, columns: int = 80, **given: Any) -> tuple[int, str]:  # noqa: ANN401 - of on_terminal
    """An evaluation on a terminal."""
    (cwd / "plan.toml").write_text(PLAN)
    with serving(*answers) as server:
        command = ("eval", "run", "plan.toml", "--out", "out", "--base-url", server.url)
        return on_terminal(*command, cwd=cwd, columns=columns, env={"OPENROUTER_API_KEY": "none"}, **given)


@pytest.mark.parametrize("columns", [40, pytest.param(120, marks=pytest.mark.slow)])
def test_an_evaluation_shows_what_is_under_way_and_what_it_costs(tmp_path: Path, columns: int) -> None:
    _, shown = evaluating(tmp_path, billed(READY), billed(READY), columns=columns)
    seen = plain(shown).partition("made: ")[0].partition("lists them).\n")[2]
    assert "1/2" in seen
    assert re.search(r"  m production\W.* \d+ ms", seen), "a run under way"
    assert re.search(r"cost\s+0\.025\s+of\s+5\s", seen)
    assert re.search(r"a\s+minute,\s+[\d.]+\s+s\s+left", seen)
    assert max(map(len, seen.splitlines())) <= columns


def test_ctrl_c_ends_an_evaluation_after_what_is_under_way(tmp_path: Path) -> None:
    code, shown = evaluating(tmp_path, billed(READY), interrupted_at="m production")
    assert code == 130
    assert shown.rindex(SHOWN) > shown.rindex(HIDDEN)
    assert "Stopping: what is under way still ends" in plain(shown)
