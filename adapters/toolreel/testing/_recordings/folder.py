"""Find the recordings in a folder, and those that no test names.

A test file names a recording if it

- has a string that is its path without the suffix (``status/local--qwen``) or ends in it, its folder
  (``status``), or its own name if no other recording has it, with or without ``.yaml``;
- is the module of its folder, and defines the test after which the pytest plugin named it
  (``reels/test_agent/test_status.yaml``, ``TestAgent.test_status-small.yaml``).
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel._internal.errors import CassetteError

_JOURNAL: Final = ".journal.jsonl"
_HOMES: Final = frozenset({"cassettes", "reels"})
_SKIPPED: Final = re.compile(r"\..*|__pycache__|node_modules|site-packages|venv")
_REMAINS: Final = re.compile(r".*\.journal\.jsonl\.part|\..*\.yaml\.[0-9a-f]{12}\.tmp")
_TRIAL: Final = b'{"record":'
"""How each line of an evaluation's journal begins; the first line of a run's journal is a header."""
_HEAD: Final = re.compile(rb"^\W?(?:toolreel|interactions|version):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Group:
    """A cassette with the journals of its runs, or journals alone."""

    cassette: Path
    """The path of the cassette, which may not exist."""
    has_cassette: bool
    journals: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The existing files."""
        return (*([self.cassette] * self.has_cassette), *self.journals)


@dataclass(frozen=True, slots=True)
class Found:
    """The files below some paths."""

    groups: tuple[Group, ...]
    evaluations: tuple[Path, ...]
    """Journals of evaluations, which have a line a trial instead of a line an event."""
    remains: tuple[Path, ...]
    """Unfinished files of runs that were killed."""


def found_in(*paths: Path) -> Found:
    """The recordings in these folders and files.

    In a folder, a YAML file counts if it is under ``cassettes`` or ``reels``, begins like a cassette, or has
    a journal.

    :raises CassetteError: if there is no such path, or nothing in it
    """
    files: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise CassetteError(f"{path}: there is no such file or folder")
        files |= dict.fromkeys(_walked(path) if path.is_dir() else [path])
    cassettes = {path for path in files if path.suffix == ".yaml" and (path in paths or _counts(path))}
    journals: dict[Path, list[Path]] = {}
    named = sorted(path for path in files if path.name.endswith(_JOURNAL))
    evaluations = tuple(path for path in named if _head(path).startswith(_TRIAL))
    for path in (path for path in named if path not in evaluations):
        journals.setdefault(_cassette_of(path), []).append(path)
    for path in cassettes:
        journals.setdefault(path, [])
    groups = (Group(path, path.exists(), tuple(found)) for path, found in sorted(journals.items()))
    remains = tuple(sorted(path for path in files if _REMAINS.fullmatch(path.name)))
    found = Found(tuple(groups), evaluations, remains)
    if found == Found((), (), ()):
        raise CassetteError(f"{', '.join(map(str, paths))}: no recordings there")
    return found


def _walked(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        yield from (Path(here, name) for name in sorted(names))


def _counts(path: Path) -> bool:
    if not _HOMES.isdisjoint(path.absolute().parent.parts):
        return True
    return len(_HEAD.findall(_head(path))) > 1 or path.with_name(path.stem + _JOURNAL).exists()


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _cassette_of(journal: Path) -> Path:
    """The cassette of a journal; the journals of further runs of a test end in ``+2``, ``+3``, …."""
    stem = re.sub(r"\+[0-9]+$", "", journal.name.removesuffix(_JOURNAL))
    return journal.with_name(f"{stem}.yaml")


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
