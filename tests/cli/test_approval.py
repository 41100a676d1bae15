"""Tools that need somebody's word, and servers that have to be asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import on_terminal, toolreel
from tests.servers.chat_server import replying, serving
from toolreel.testing import calling, saying

TOOLS = '''
from dataclasses import replace
from pathlib import Path
from toolreel.tools import Tool
from toolreel.tools import definition_of

def launch(pad: int) -> str:
    """Launch."""
    Path("launched").write_text(str(pad))
    return "gone"

TOOLS = [Tool(replace(definition_of(launch), needs_approval=True), launch)]
'''

SCRIPT = [replying(calling(("launch", {"pad": 3}))), replying(saying("As you wish."))]


@pytest.fixture
def pad(tmp_path: Path) -> Path:
    (tmp_path / "rocket.py").write_text(TOOLS)
    return tmp_path


@pytest.mark.parametrize(
    ("approve", "result"),
    [
        (("--approve", "always"), '← {"value":"gone"}'),
        (("--approve", "never"), "← TOOL_DENIED: launch was not run, it was not approved. Go on without it."),
        ((), "nobody was there to approve it. Go on without it."),
    ],
)
def test_in_a_pipe_a_tool_is_approved_beforehand_or_not_at_all(
    pad: Path, approve: tuple[str, ...], result: str
) -> None:
    with serving(*SCRIPT) as server:
        base = ("run", "Launch.", "--model", "m", "--base-url", server.url, "--tools", "rocket:TOOLS")
        said = toolreel(*base, *approve, "--record", "kept", cwd=pad)
    assert said.code == 0
    assert result in said.stdout
    assert (pad / "launched").exists() == ("always" in approve)
    assert toolreel("replay", "kept", cwd=pad).code == 0


@pytest.mark.parametrize(("answer", "launched"), [("y\n", True), ("n\n", False)])
def test_at_a_terminal_the_person_is_asked(pad: Path, answer: str, launched: bool) -> None:
    with serving(*SCRIPT) as server:
        base = ("run", "Launch.", "--model", "m", "--base-url", server.url, "--tools", "rocket:TOOLS")
        code, shown = on_terminal(*base, cwd=pad, typed=answer)
    assert code == 0
    assert 'launch({"pad":3})' in shown
    assert "Run it? [y/N]" in shown
    assert (pad / "launched").exists() == launched


def test_an_end_of_input_instead_of_an_answer_cancels_the_run_and_keeps_it(pad: Path) -> None:
    with serving(SCRIPT[0]) as server:
        base = ("run", "Launch.", "--model", "m", "--base-url", server.url, "--tools", "rocket:TOOLS")
        code, shown = on_terminal(*base, "--record", "kept", cwd=pad, typed="\x04")
    assert code == 130
    assert "cancelled: interrupted from the keyboard" in shown
    assert not (pad / "launched").exists()
    assert toolreel("replay", "kept", cwd=pad).code == 0
