"""The files of a test's recording: their names, and the journal of one run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from toolreel._driver import Lap, Wanted
from toolreel._internal import CassetteError
from toolreel._journal import MemoryJournal, Recorded, journal_path, seal_text
from toolreel._replay import AllowedDifferences, check_same_lines
from toolreel._secrets import check_line_for_secrets
from toolreel.cassette import replace_file
from toolreel_core._jsontext import digest
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event

_PLAIN = re.compile(r"[a-z0-9._-]+")
"""A name that is the same on every file system."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that are replaced in file names."""
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
"""A part of a path that no file system hides or takes for an option."""
_MAX_LENGTH = 80
"""Characters that a test's parameters add to the name of its file; file systems take 255 bytes for all."""


def is_recorded(cassette: Path) -> bool:
    """Whether there is a recording; a run that stopped at its first request has only a journal."""
    return cassette.exists() or journal_path(cassette).exists()


def cassette_by_name(folder: Path, name: str) -> Path:
    parts = PurePosixPath(name.removesuffix(".yaml")).parts
    if not parts or not all(_PART.fullmatch(part) for part in parts):
        raise CassetteError(
            f"the reel's name {name!r}: expected letters, digits, '.', '_' and '-', with '/' between folders"
        )
    return folder.joinpath(*parts[:-1], parts[-1] + ".yaml")


def cassette_of_test(folder: Path, path: Sequence[str]) -> Path:
    """The cassette of a test, by its own name.

    >>> cassette_of_test(Path("reels/test_agent"), ["TestStatus", "test_get[small]"]).as_posix()
    'reels/test_agent/TestStatus.test_get-small.yaml'

    :param path: names of the test's classes, and its own name with parameters
    """
    *classes, last = path
    name, _, parameters = last.partition("[")
    stem = ".".join([*classes, name])
    if parameters:
        stem += f"-{_file_name_part(parameters.removesuffix(']'))}"
    return folder / f"{stem}.yaml"


def _file_name_part(text: str) -> str:
    """The text as part of a file name; a digest distinguishes texts with replaced characters.

    Upper case gets a digest too, because some file systems ignore case.

    >>> _file_name_part("gpt-4o"), _file_name_part("a b/c")
    ('gpt-4o', 'a-b-c-539138d5')
    """
    if _PLAIN.fullmatch(text) and len(text) <= _MAX_LENGTH:
        return text
    return f"{_UNSAFE.sub('-', text)[:_MAX_LENGTH].strip('-')}-{digest(text)[:8]}"


class ReelJournal(MemoryJournal):
    """The journal of one run in a test: compared with the recorded one, or replacing it."""

    def __init__(
        self, plan: Plan, path: Path, recorded: Recorded | None, allowed: AllowedDifferences | None = None
    ) -> None:
        super().__init__(plan)
        self.path = path
        self.recorded = recorded
        self.allowed = allowed
        self._answers: list[tuple[Wanted | None, Event]] = []

    def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
        self._answers.append((effect, event))
        return super().record(effect, event, lap)

    def check(self, *, whole: bool = True) -> None:
        """Fail if the events differ from the recorded ones.

        The plan is not compared: a changed limit that has no effect is not a difference.

        :param whole: whether the run is over; else the recorded events may go on
        :raises ReplayMismatch: at the first difference
        """
        if self.recorded is None:
            return
        was, may_differ = self.recorded.text.split("\n")[:-1], {0}
        if self.allowed:
            pairs = enumerate(zip(self.recorded.records, self._answers, strict=False), 1)
            may_differ |= {n for n, (record, event) in pairs if self.allowed.matches(record, *event)}
        recorded = was if whole else was[: len(self.lines)]
        check_same_lines(self.path, recorded, self.lines, may_differ.__contains__)

    def refuse_secrets(self, known: Mapping[str, str]) -> None:
        for number, line in enumerate(self.lines, 1):
            check_line_for_secrets(line, known, f"{self.path}, line {number}")

    def save(self) -> None:
        replace_file(self.path, seal_text(self.text))
