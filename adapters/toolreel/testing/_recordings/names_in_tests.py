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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SUFFIXES: Final = (".journal.jsonl", ".yaml")
_REELS: Final = "reels"


@dataclass(frozen=True, slots=True)
class Names:
    """The strings and functions in test files."""

    texts: frozenset[str]
    """Their strings, without the suffixes of recordings."""
    tests: Mapping[str, frozenset[str]]
    """By the name of each module, the names that it defines."""

    def unnamed(self, cassettes: Iterable[Path]) -> list[Path]:
        """The recordings that no test names."""
        every = [*cassettes]
        shared = Counter(path.stem for path in every)
        return [path for path in every if not self._named(path, alone=shared[path.stem] == 1)]

    def _named(self, path: Path, *, alone: bool) -> bool:
        whole, folder = f"{path.parent.name}/{path.stem}", path.parent.name
        names = [whole, folder, *([path.stem] if alone else [])]
        ends = (f"/{whole}", f"/{folder}")
        by_text = any(text in names or text.endswith(ends) for text in self.texts)
        return by_text or self._defined(folder, path.stem)

    def _defined(self, module: str, stem: str) -> bool:
        *_, test = stem.partition("-")[0].split(".")
        return test in self.tests.get(module, ())


def names_in(*paths: Path) -> Names:
    """The names in the Python files below these paths; files with syntax errors are skipped."""
    texts: set[str] = set()
    tests: dict[str, frozenset[str]] = {}
    for file in _python_files(paths):
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
        tests[file.stem] = tests.get(file.stem, frozenset()) | defined
    return Names(frozenset(texts), tests)


def reel_tests(cassette: Path) -> Path | None:
    """The folder of the tests of a pytest recording: the one that contains ``reels``.

    >>> reel_tests(Path("tests/reels/test_agent/test_status.yaml")).as_posix()
    'tests'
    """
    for folder in cassette.parents:
        if folder.name == _REELS:
            return folder.parent
    return None


def _python_files(paths: Iterable[Path]) -> list[Path]:
    files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
    return sorted(dict.fromkeys(files))


def _plain(text: str) -> str:
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    return text
