"""``--help``, ``--version``, the demo, and what is said where a package is missing."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tests.cli.commands import assert_mistake, said_by_each, toolreel
from toolreel._cli import LazyCommand, cassettes_command, durable_command, eval_command
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


LATER = [
    each
    for lazy in (toolreel_group, cassettes_command, eval_command, durable_command)
    for each in lazy.commands.values()
]


@pytest.mark.parametrize("later", LATER, ids=lambda later: later.name)
def test_a_command_is_told_of_before_it_is_loaded_as_it_tells_of_itself(later: click.Command) -> None:
    command = loaded(later)
    assert (later.name, later.get_short_help_str(80)) == (command.name, command.get_short_help_str(80))


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
        ("rich", "demo", "pip install 'toolreel[cli]'"),
        ("httpx", "demo", "pip install 'toolreel[record]'"),
        ("httpx", "run hi --model m --base-url http://127.0.0.1:9", "pip install 'toolreel[http]'"),
        ("vcr", "demo", "pip install 'toolreel[record]'"),
        ("yaml", "demo", "pip install 'toolreel[record]'"),
        ("yaml", "tools --skills .", "pip install 'toolreel[skills]'"),
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
