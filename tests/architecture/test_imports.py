"""What is loaded by whom: an import or a command pays for what it needs, and for nothing else.

Modules are counted, since time depends on the machine; ``benchmarks/import_time.py`` has the time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.replay.sessions import cassette
from toolreel._journal import journal_path

EXTRAS = {
    "anyio",
    "click",
    "httpx",
    "mcp",
    "rich",
    "scipy",
    "tokenizers",
    "trio",
    "vcr",
    "yaml",
}
RUNTIME = {"asyncio", "concurrent.futures", "importlib.metadata", "logging", "socket", "ssl", "subprocess"}
SCHEMAS = {"attr", "jsonschema", "referencing", "rpds"}
CORE = {"dataclasses", "pyrsistent", "returns"}
CODE = {"toolreel_core._jsontext"}
"""What the rest of the core imports."""
DIALECTS = {"toolreel_core._text_calls.markers", "toolreel_core._text_calls.parse"}

COMMAND = """
import sys
from toolreel.__main__ import main
sys.argv = ["toolreel", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
"""The command line in a process that goes on."""


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("toolreel_core", EXTRAS | RUNTIME | SCHEMAS | CORE),
        ("toolreel.__main__", EXTRAS | RUNTIME | SCHEMAS | CORE),
        ("toolreel._cli.live_run", {"mcp", "scipy", "vcr"}),  # a run that is not recorded
        ("toolreel._cli.evals.run", {"httpx", "scipy", "vcr"}),  # its --help
        ("toolreel.testing._pytest_plugin", EXTRAS | SCHEMAS | CODE),  # every pytest loads it
    ],
)
def test_importing_loads_no_extra(module: str, unwanted: set[str], tmp_path: Path) -> None:
    assert unwanted & loaded_by(f"import {module}", tmp_path) == set()


def test_the_public_names_need_no_extra(tmp_path: Path) -> None:
    assert EXTRAS & loaded_by("from toolreel import *", tmp_path) == set()


@pytest.mark.parametrize(
    ("statement", "unwanted", "at_most"),
    [
        ("import toolreel", EXTRAS | RUNTIME | SCHEMAS | CORE | CODE, 40),
        ("from toolreel_core import Plan, start, step", EXTRAS | RUNTIME | SCHEMAS | DIALECTS, 185),
        ("from toolreel import Agent", EXTRAS | SCHEMAS | DIALECTS, 275),
    ],
)
def test_an_import_stays_within_its_budget(
    statement: str, unwanted: set[str], at_most: int, tmp_path: Path
) -> None:
    loaded = loaded_by(statement, tmp_path)
    assert unwanted & loaded == set()
    assert len(loaded) <= at_most, sorted(loaded)


@pytest.mark.parametrize(
    ("arguments", "unwanted", "at_most"),
    [
        (["--help"], (EXTRAS - {"click"}) | RUNTIME | SCHEMAS | CORE, 100),
        (
            ["replay", "--help"],
            (EXTRAS - {"click", "rich"}) | SCHEMAS | DIALECTS | {"asyncio", "logging", "ssl"},
            465,
        ),
        (
            ["replay", str(journal_path(cassette("chat")))],
            (EXTRAS - {"click", "rich"}) | {"asyncio", "importlib.metadata", "logging", "ssl"},
            455,
        ),
        (
            ["replay", str(journal_path(cassette("workspace")))],
            (EXTRAS - {"click", "rich"}) | SCHEMAS | {"asyncio", "importlib.metadata", "logging", "ssl"},
            485,
        ),
    ],
    ids=["help", "help of replay", "replay of a journal", "replay of a journal with plain tools"],
)
def test_a_command_stays_within_its_budget(
    arguments: list[str], unwanted: set[str], at_most: int, tmp_path: Path
) -> None:
    loaded = loaded_by(COMMAND.format(arguments=arguments), tmp_path)
    assert unwanted & loaded == set()
    assert len(loaded) <= at_most, sorted(loaded)


def loaded_by(program: str, tmp_path: Path) -> set[str]:
    """The modules that are loaded by a program and not by Python's own start."""
    code = f"import sys\nbefore = {{*sys.modules}}\n{program}\nprint('loaded', *({{*sys.modules}} - before))"
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    return set(output.splitlines()[-1].split()[1:])
