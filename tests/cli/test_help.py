"""``--help``, ``--version``, the demo, and what is said where a package is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.commands import assert_mistake, said_by_each, toolreel
from toolreel._cli import LazyCommand
from toolreel._cli import toolreel as toolreel_group
from toolreel._replay import DRIVERS

WITHOUT = """
import sys
missing = {missing!r}

class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *rest):
        return None if name.partition(".")[0] == missing else self.finder.find_spec(name, *rest)

sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
from toolreel.__main__ import main
main()
"""
"""A process in which one package is not installed."""


def loaded(later: click.Command) -> click.Command:
    return later.load() if isinstance(later, LazyCommand) else later


def test_the_help_of_each_command_names_its_options_and_fits_a_terminal(tmp_path: Path) -> None:
    commands = {name: loaded(later) for name, later in toolreel_group.commands.items()}
    asked = [("--help",), *((name, "--help") for name in commands)]
    top, *each = said_by_each(asked, tmp_path)
    for command, said in zip(commands.values(), each, strict=True):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(option in said.stdout for option in parameter.opts), parameter.opts
                assert parameter.help, f"{parameter.name} says nothing about itself"
            else:
                assert parameter.human_readable_name in said.stdout
    for name in commands:
        assert f"  {name} " in top.stdout
    for said in (top, *each):
        assert (said.code, said.stderr) == (0, "")
        assert "Exit codes: 0 success, 1 " in said.stdout
        assert max(map(len, said.stdout.splitlines())) <= 80
        assert not re.search(r"\w\.\.\.$", said.stdout, re.MULTILINE), "a sentence was cut"


def leaves(command: click.Command, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that is not a group, by the words that call it."""
    found = loaded(command)
    if isinstance(found, click.Group):
        for name, later in found.commands.items():
            yield from leaves(later, *path, name)
    else:
        yield " ".join(path), found


@pytest.mark.parametrize(("words", "command"), [*leaves(toolreel_group, "toolreel")])
def test_the_help_of_each_command_has_an_example(words: str, command: click.Command) -> None:
    assert re.search(rf"^ *{words}\b", str(command.help), re.MULTILINE)


def test_the_demo_shows_the_session_and_proves_it_on_every_driver(tmp_path: Path) -> None:
    shown, machine, one, version = said_by_each(
        [("demo",), ("demo", "--json"), ("demo", "--driver", "trio"), ("--version",)], tmp_path
    )
    assert shown.code == 0
    assert "            → state_get(" in shown.stdout
    assert "outcome     completed: the model gave a final answer" in shown.stdout
    assert shown.stdout.count("identical on ") == len(DRIVERS)
    assert machine.data["replay"] == {"drivers": [*DRIVERS], "identical": True}
    assert machine.stdout.count("\n") == 1
    assert one.stdout.count("identical on ") == 1
    assert "identical on trio" in one.stdout
    assert version.stdout.startswith("toolreel, version ")


@pytest.mark.parametrize(
    ("missing", "command", "remedy"),
    [
        ("click", "demo", "pip install 'toolreel[cli]'"),
        ("httpx", "run hi --model m --base-url http://127.0.0.1:9", "pip install 'toolreel[cli]'"),
        ("trio", "demo --driver trio", "pip install 'toolreel[trio]'"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    missing: str, command: str, remedy: str, tmp_path: Path
) -> None:
    said = toolreel(*command.split(), cwd=tmp_path, program=WITHOUT.format(missing=missing))
    assert_mistake(said, "is not installed", remedy)
    assert len(said.stderr.splitlines()) == 1
    assert [*tmp_path.iterdir()] == []


def test_without_trio_the_demo_proves_itself_on_the_drivers_that_are_there(tmp_path: Path) -> None:
    said = toolreel("demo", cwd=tmp_path, program=WITHOUT.format(missing="trio"))
    assert said.code == 0
    assert [driver for driver in DRIVERS if f"identical on {driver}" in said.stdout] == ["sync", "asyncio"]


# ``--log-level`` and its variables: logs on stderr, as text or JSON.


def test_the_logs_of_a_replay_are_lines_on_stderr(tmp_path: Path) -> None:
    done = toolreel("--log-level", "info", "demo", cwd=tmp_path)
    assert done.code == 0
    lines = done.stderr.splitlines()
    assert any(" INFO    toolreel.loop: " in line for line in lines)
    assert any("run_settled run=" in line and "outcome=completed" in line for line in lines)


def test_the_variables_do_the_same_for_machines(tmp_path: Path) -> None:
    done = toolreel("demo", cwd=tmp_path, env={"TOOLREEL_LOG": "debug", "TOOLREEL_LOG_FORMAT": "json"})
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"toolreel.loop", "toolreel.http", "toolreel.tools"} <= {each["logger"] for each in told}
    for each in told:
        assert each.keys() >= {"at", "level", "logger", "event"}
    (settled, *_) = [each for each in told if each["event"] == "run_settled"]
    assert (settled["outcome"], settled["replayed"]) == ("completed", True)
