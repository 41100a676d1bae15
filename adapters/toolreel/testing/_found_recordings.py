"""The recordings in a folder: cassettes with their journals, and evaluations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel._internal import CassetteError

_JOURNAL: Final = ".journal.jsonl"
_HOMES: Final = frozenset({"cassettes", "reels"})
_SKIPPED: Final = re.compile(r"\..*|__pycache__|node_modules|site-packages|venv")
"""Folders in which no recordings are looked for."""
_REMAINS: Final = re.compile(r".*\.journal\.jsonl\.part|\..*\.yaml\.[0-9a-f]{12}\.tmp")
"""Files that a killed process leaves while it writes."""
_TRIAL: Final = b'{"record":'
"""How each line of an evaluation's journal begins; the first line of a run's journal is a header."""
_HEAD: Final = re.compile(rb"^\W?(?:toolreel|interactions|version):", re.MULTILINE)
"""The first keys of a cassette, ours or of vcrpy; a byte order mark may stand before them."""


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
