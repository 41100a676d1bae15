"""Copies of recorded sessions, changed or damaged, and what ``toolreel replay`` says of them."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.replay.sessions import cassette
from toolreel._cli import toolreel
from toolreel._journal import journal_path
from toolreel._replay import DRIVERS

DRIFT, USAGE = 3, 2


@dataclass(frozen=True, slots=True)
class Said:
    """What the command said and how it ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The cassette of a copy of the workspace session."""
    for file in (cassette("workspace"), journal_path(cassette("workspace"))):
        shutil.copy(file, tmp_path)
    return tmp_path / cassette("workspace").name


def replaying(path: Path, *options: str) -> Said:
    result = CliRunner().invoke(toolreel, ["replay", str(path), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Said(result.exit_code, result.stdout, result.stderr)


def edit(path: Path, old: str, new: str) -> None:
    """Change the first place where a text stands."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def assert_drift(said: Said, *parts: str) -> None:
    assert said.code == DRIFT
    assert said.stdout == ""
    assert said.stderr.startswith("error: ")
    for part in parts:
        assert part in said.stderr


def assert_unusable(said: Said, path: Path) -> str:
    """One line that names the file, and nothing else."""
    assert said.code == USAGE
    assert said.stdout == ""
    (line,) = said.stderr.splitlines()
    assert line.startswith("error: ")
    assert str(path) in line
    assert len(line) < 400
    return line


# A request that changed by one character.


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("You are a release assistant.", "You are a release assistent.", "messages[0].content"),
        ("description: The new value.", "description: The new valve.", None),
        ("temperature: 0\n", "temperature: 1\n", "temperature"),
    ],
)
def test_a_changed_request_is_a_drift_that_shows_the_place_and_both_sides(
    copy: Path, old: str, new: str, place: str | None
) -> None:
    edit(copy, old, new)
    assert_drift(
        replaying(copy),
        f"{copy}: POST /chat/completions is not in the recording",
        f"interaction 1 of 3:\nfirst change: {place or 'tools['}",
        "\n  recorded: ",
        "If the change is meant, record the session again.",
    )


@pytest.fixture
def tool_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes a module ``changed_tools`` that can be imported as long as the test runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "changed_tools", raising=False)

    def write(text: str) -> None:
        (tmp_path / "changed_tools.py").write_text(text)
        importlib.invalidate_caches()

    return write


def test_a_tool_that_describes_itself_otherwise_than_it_did_is_a_drift(
    copy: Path, tool_module: Callable[[str], None]
) -> None:
    tool_module(
        "from toolreel.demo import Workspace\n"
        "class Reworded(Workspace):\n"
        "    def state_get(self, path: str) -> dict[str, object]:\n"
        "        return super().state_get(path)\n"
        "    state_get.__doc__ = Workspace.state_get.__doc__.replace('one value', 'a value')\n"
        "TOOLS = [Reworded().state_get, Workspace().state_patch]\n"
    )
    assert_drift(
        replaying(copy, "--tools", "changed_tools:TOOLS"),
        "the tool 'state_get' is not what the model was shown; first change: description\n"
        '  recorded: "Read one value of the workspace."\n'
        '  now:      "Read a value of the workspace."\n',
    )


def test_a_tool_that_is_gone_is_a_drift(copy: Path, tool_module: Callable[[str], None]) -> None:
    tool_module("from toolreel.demo import Workspace\nTOOLS = [Workspace().state_patch]\n")
    said = replaying(copy, "--tools", "changed_tools:TOOLS")
    assert_drift(said, "the run had a tool 'state_get'; there are: state_patch")


# A reply, or a whole exchange, that changed.


@pytest.mark.parametrize("driver", DRIVERS)
def test_another_tool_call_in_a_reply_is_a_drift_on_every_driver(copy: Path, driver: str) -> None:
    edit(copy, '"path": "/release/status"', '"path": "/release/name"')
    assert_drift(
        replaying(copy, "--driver", driver),
        f'{journal_path(copy)}, line 3: the run wants state_get({{"path":"/release/name"}})',
        "not the run_tool recorded here",
    )


def test_a_call_that_is_no_longer_one_ends_the_run_too_early(copy: Path) -> None:
    edit(copy, '"name": "state_get"', '"nome": "state_get"')
    assert_drift(replaying(copy), "the run ended, but 4 recorded events are left, from line 3 (run_tool) on")


def test_a_reply_that_differs_in_a_figure_only_is_a_drift_against_the_journal(copy: Path) -> None:
    edit(copy, "completion_tokens: 30", "completion_tokens: 31")
    said = replaying(copy)
    assert_drift(said, f"{journal_path(copy)}: event 1 is not the recorded one; first change: event.body")
    assert re.search(r'recorded: [^\n]*completion_tokens\\":30', said.stderr)
    assert re.search(r'now: [^\n]*completion_tokens\\":31', said.stderr)


def test_a_recorded_exchange_that_nobody_asks_for_is_a_drift(copy: Path) -> None:
    text = copy.read_text()
    last = text[text.rindex("- request:\n") : text.rindex("...")]
    copy.write_text(text.removesuffix("...\n") + last + "...\n")
    assert_drift(replaying(copy), "the session is over", "interaction 4 of 4: POST /chat/completions")


def test_a_journal_that_stops_too_early_is_a_drift(copy: Path) -> None:
    lines = journal_path(copy).read_text().splitlines(keepends=True)
    journal_path(copy).write_text("".join(lines[:-1]))
    assert_drift(replaying(copy), "the journal ends, but the run wants a request with 6 messages")
    assert_drift(
        replaying(journal_path(copy)), "the journal ends, but the run wants a request with 6 messages"
    )


# Files that are no recordings.


@pytest.mark.parametrize(
    "payload",
    [
        "!!python/object/apply:os.system ['touch {proof}']",
        "!!python/name:os.system",
    ],
)
def test_nothing_in_a_cassette_is_executed(copy: Path, tmp_path: Path, payload: str) -> None:
    proof = tmp_path / "executed"
    edit(copy, "qwen2.5-coder-1.5b", payload.format(proof=proof))
    line = assert_unusable(replaying(copy), copy)
    assert "python/" in line
    assert not proof.exists()
