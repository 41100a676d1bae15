"""The recordings in a folder: cassettes, the journals beside them, and what killed runs have left."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel._errors import CassetteError

_JOURNAL: Final = ".journal.jsonl"
_HOMES: Final = frozenset({"cassettes", "reels"})
_SKIPPED: Final = re.compile(r"\..*|__pycache__|node_modules|site-packages|venv")
_REMAINS: Final = re.compile(r".*\.journal\.jsonl\.part|\..*\.yaml\.[0-9a-f]{12}\.tmp")
_HEAD: Final = re.compile(rb"^\W?(?:toolreel|interactions|version):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Group:
    """A cassette and the journals of the runs that were recorded with it, or journals alone."""

    cassette: Path
    """Where the cassette is, or would be."""
    has_cassette: bool
    journals: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """All that there are."""
        return (*([self.cassette] * self.has_cassette), *self.journals)


@dataclass(frozen=True, slots=True)
class Found:
    """What there is below some paths."""

    groups: tuple[Group, ...]
    remains: tuple[Path, ...]
    """Unfinished files of runs that were killed."""


def found_in(*paths: Path) -> Found:
    """The recordings below these folders, and those that are named themselves.

    In a folder, a YAML file counts if it lies under ``cassettes`` or ``reels``, begins as cassettes do,
    or has a journal.

    :raises CassetteError: if there is no such path, or nothing in it
    """
    files: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise CassetteError(f"{path}: there is no such file or folder")
        files |= dict.fromkeys(_walked(path) if path.is_dir() else [path])
    cassettes = {path for path in files if path.suffix == ".yaml" and (path in paths or _counts(path))}
    journals: dict[Path, list[Path]] = {}
    for path in sorted(path for path in files if path.name.endswith(_JOURNAL)):
        journals.setdefault(_cassette_of(path), []).append(path)
    for path in cassettes:
        journals.setdefault(path, [])
    groups = (Group(path, path.exists(), tuple(found)) for path, found in sorted(journals.items()))
    remains = tuple(sorted(path for path in files if _REMAINS.fullmatch(path.name)))
    found = Found(tuple(groups), remains)
    if not found.groups and not remains:
        raise CassetteError(f"{', '.join(map(str, paths))}: no recordings there")
    return found


def _walked(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        yield from (Path(here, name) for name in sorted(names))


def _counts(path: Path) -> bool:
    if not _HOMES.isdisjoint(path.absolute().parent.parts):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return len(_HEAD.findall(head)) > 1 or path.with_name(path.stem + _JOURNAL).exists()


def _cassette_of(journal: Path) -> Path:
    """The cassette of a journal; those of a test's further runs have a number behind a plus."""
    stem = re.sub(r"\+[0-9]+$", "", journal.name.removesuffix(_JOURNAL))
    return journal.with_name(f"{stem}.yaml")
