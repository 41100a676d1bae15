"""Paths and names of a test's recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from toolreel._internal import CassetteError
from toolreel._journal import journal_path
from toolreel_core._jsontext import digest

_PLAIN: Final = re.compile(r"[a-z0-9._-]+")
"""A name that is the same on every file system."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that are replaced in file names."""
_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
"""A part of a path that no file system hides or takes for an option."""
_MAX_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class ReelFiles:
    """A cassette, and the journals of its runs."""

    cassette: Path

    def journal(self, number: int) -> Path:
        """The journal of a test's first run, its second, and so on; names of recordings have no plus.

        >>> ReelFiles(Path("reels/status.yaml")).journal(2).as_posix()
        'reels/status+2.journal.jsonl'
        """
        first = journal_path(self.cassette)
        stem = self.cassette.name.removesuffix(".yaml")
        return first if number == 1 else first.with_name(f"{stem}+{number}.journal.jsonl")

    @property
    def journals(self) -> tuple[Path, ...]:
        """The existing journals."""
        found: list[Path] = []
        while (path := self.journal(len(found) + 1)).exists():
            found.append(path)
        return tuple(found)

    @property
    def exist(self) -> bool:
        """Whether there is a recording; a run that stopped at its first request has only a journal."""
        return self.cassette.exists() or bool(self.journals)


def files_by_name(folder: Path, name: str) -> ReelFiles:
    """The recording of a name that somebody chose.

    >>> files_by_name(Path("reels"), "status/local--qwen").cassette.as_posix()
    'reels/status/local--qwen.yaml'

    :raises CassetteError: if the name is outside the folder, or not a valid file name on every system
    """
    parts = PurePosixPath(name.removesuffix(".yaml")).parts
    if not parts or not all(_PART.fullmatch(part) for part in parts):
        raise CassetteError(
            f"the reel's name {name!r}: expected letters, digits, '.', '_' and '-', with '/' between folders"
        )
    return ReelFiles(folder.joinpath(*parts[:-1], parts[-1] + ".yaml"))


def files_of_test(folder: Path, path: Sequence[str]) -> ReelFiles:
    """The recording of a test, by its own name.

    >>> files_of_test(Path("reels/test_agent"), ["TestStatus", "test_get[small]"]).cassette.as_posix()
    'reels/test_agent/TestStatus.test_get-small.yaml'

    :param path: names of the test's classes, and its own name with parameters
    """
    *classes, last = path
    name, _, parameters = last.partition("[")
    stem = ".".join([*classes, name])
    if parameters:
        stem += f"-{_file_name_part(parameters.removesuffix(']'))}"
    return ReelFiles(folder / f"{stem}.yaml")


def _file_name_part(text: str) -> str:
    """The text as part of a file name; a digest distinguishes texts with replaced characters.

    Upper case gets a digest too, because some file systems ignore case.

    >>> _file_name_part("gpt-4o"), _file_name_part("a b/c")
    ('gpt-4o', 'a-b-c-539138d5')
    """
    if _PLAIN.fullmatch(text) and len(text) <= _MAX_LENGTH:
        return text
    return f"{_UNSAFE.sub('-', text)[:_MAX_LENGTH].strip('-')}-{digest(text)[:8]}"
