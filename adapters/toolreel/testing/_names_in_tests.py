"""The names of recordings in test files, to find recordings that no test names.

A test file names a recording if it

- has a string that is its path without the suffix (``status/local--qwen``) or ends in it, its folder
  (``status``), or its own name if no other recording has it, with or without ``.yaml``;
- is the module of its folder, and defines the test after which the pytest plugin named it
  (``reels/test_agent/test_status.yaml``, ``TestAgent.test_status-small.yaml``).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SUFFIXES: Final = (".journal.jsonl", ".yaml")
_REELS: Final = "reels"
_NONE: Final = frozenset[str]()


@dataclass(frozen=True, slots=True)
class Names:
    """The strings and functions in test files."""

    texts: frozenset[str]
    """Their strings, without the suffixes of recordings."""
    ends: frozenset[str]
    """What strings that are paths end in: ``c`` and ``b/c`` of ``a/b/c``."""
    tests: Mapping[str, frozenset[str]]
    """By the name of each module, the names that it defines."""

    def unnamed(self, cassettes: Iterable[Path]) -> list[Path]:
        """The recordings that no test names."""
        every = [*cassettes]
        shared = Counter(path.stem for path in every)
        return [path for path in every if not self._named(path, alone=shared[path.stem] == 1)]

    def joined(self, other: Names) -> Names:
        """The names of both."""
        modules = self.tests.keys() | other.tests.keys()
        tests = {each: self.tests.get(each, _NONE) | other.tests.get(each, _NONE) for each in modules}
        return Names(self.texts | other.texts, self.ends | other.ends, tests)

    def _named(self, path: Path, *, alone: bool) -> bool:
        folder = path.parent.name
        names = {f"{folder}/{path.stem}", folder}
        by_text = names & self.ends or {*names, *([path.stem] if alone else [])} & self.texts
        return bool(by_text) or self._defined(folder, path.stem)

    def _defined(self, module: str, stem: str) -> bool:
        *_, test = stem.partition("-")[0].split(".")
        return test in self.tests.get(module, ())


def names_in(path: Path) -> Names:
    """The names in the Python files below a path, or in one file; files with syntax errors are skipped."""
    texts: set[str] = set()
    tests: dict[str, frozenset[str]] = {}
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        defined: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(_plain(node.value))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                defined.add(node.name)
        tests[file.stem] = tests.get(file.stem, _NONE) | defined
    return Names(frozenset(texts), frozenset(_ends(texts)), tests)


def reel_tests(cassette: Path) -> Path | None:
    """The folder of the tests of a pytest recording: the one that contains ``reels``.

    >>> reel_tests(Path("tests/reels/test_agent/test_status.yaml")).as_posix()
    'tests'
    """
    for folder in cassette.parents:
        if folder.name == _REELS:
            return folder.parent
    return None


def _ends(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        *folders, last = text.rsplit("/", 2)
        if folders:
            yield last
        if len(folders) == 2:
            yield f"{folders[1]}/{last}"


def _plain(text: str) -> str:
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    return text
