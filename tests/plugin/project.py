"""A project of somebody who tests an agent: a folder with the agent in it, in which pytest runs for real."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.servers.chat_server import Answer, replying, serving
from toolreel.testing import calling, saying

SESSION = (
    replying(calling(("stock", {"part": "pin"}))),
    replying(saying("There are 4.")),
)
"""What a model says when it is asked how many pins there are."""

_OPTIONS = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:hypothesispytest", "-p", "no:cov")

_AGENT = '''
from toolreel import Plan
from toolreel import PythonTools

def stock(part: str) -> int:
    """How many of a part are in stock."""
    return {"pin": 4}[part]

TOOLS = PythonTools([stock])

def asking(question="How many pins are in stock?"):
    return Plan.of(model="m", messages=question, tools=TOOLS.surface)
'''

_HEAD = """
import anyio
import httpx
import pytest
from agent import TOOLS, asking, stock
from toolreel import Plan
from toolreel.testing import assert_reel
"""


class Imported:
    """What was imported while pytest ran in this process, and would be forgotten and imported twice."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        self._modules |= sys.modules

    def put_back(self, but: Path) -> None:
        """All of it but the modules in a folder."""
        for name, module in self._modules.items():
            if not str(getattr(module, "__file__", "")).startswith(f"{but}{os.sep}"):
                sys.modules.setdefault(name, module)


@dataclass(frozen=True, slots=True)
class Project:
    """The project, in which pytest runs in a process of its own."""

    pytester: pytest.Pytester
    imported: Imported

    @property
    def path(self) -> Path:
        return self.pytester.path

    def tests(self, source: str, name: str = "test_agent") -> None:
        """Write a module of tests in the place of the one that there is."""
        self.pytester.makepyfile(**{name: _HEAD + source})

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run the tests in a process of their own, as users do."""
        return self.pytester.runpytest_subprocess(*_OPTIONS, *arguments)

    def here(self, *arguments: str) -> pytest.RunResult:
        """Run the tests in this process, which takes a tenth of the time."""
        result = self.pytester.runpytest_inprocess(*_OPTIONS, *arguments, plugins=[self.imported])
        self.imported.put_back(self.path.parent)
        return result

    def record(
        self, *arguments: str, script: Sequence[Answer] = SESSION, mode: str = "record"
    ) -> pytest.RunResult:
        """Run the tests in this process, against a server that answers from a script."""
        with serving(*script) as server:
            return self.here(f"--reel={mode}", "--reel-live-url", server.url, *arguments)

    def edit(self, file: str, old: str, new: str) -> None:
        """Change the first place in a file where a text stands."""
        path = self.path / file
        text = path.read_text("utf-8")
        assert old in text
        written = path.stat().st_mtime
        path.write_text(text.replace(old, new, 1), "utf-8")
        # Bytecode counts as that of its source while the size and the second of the change are the same.
        os.utime(path, (written + 2, written + 2))

    def unseal(self, journal: str) -> None:
        """Delete the last line of a journal, its seal, so that it may be edited."""
        path = self.path / journal
        *lines, seal = path.read_text("utf-8").splitlines(keepends=True)
        assert '"digest"' in seal
        path.write_text("".join(lines), "utf-8")

    def files(self) -> list[str]:
        """The recordings that there are."""
        reels = self.path / "reels"
        return sorted(path.relative_to(reels).as_posix() for path in reels.rglob("*") if path.is_file())


def founded(pytester: pytest.Pytester, imported: Imported) -> Project:
    """A project with its agent, in which every warning is an error."""
    pytester.makepyfile(agent=_AGENT)
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers --strict-config\n")
    return Project(pytester, imported)
