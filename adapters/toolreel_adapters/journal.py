"""The journal: the complete, portable record of a run, as JSON lines.

The first line is a header with versions, plan and digest; then comes one line an event:
``{"n", "kind", "fp", "event"}``. ``kind`` and ``fp`` name the effect that was answered, ``fp`` by
its fingerprint. Request bodies are not stored: the reducer makes them again, and the fingerprint
proves that they are the same.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from toolreel.codec import VERSION, decode_event, decode_plan, encode, tag
from toolreel.digest import digest
from toolreel.effects import ANSWERS, fingerprint
from toolreel.errors import CodecError
from toolreel.events import Event, ReplyReceived
from toolreel.jsontext import Json, canonical, read
from toolreel.pipeline import either
from toolreel.plan import Plan
from toolreel_adapters.errors import JournalError, SecretFound
from toolreel_adapters.ports import Wanted
from toolreel_adapters.secret_scan import leaks, spoken

__all__ = [
    "FORMAT",
    "FileJournal",
    "MemoryJournal",
    "Record",
    "Recorded",
    "parse_journal",
    "read_journal",
]

FORMAT: Final = 1
"""Version of the lines' layout; the events in them have the codec's version."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal."""

    n: int
    """Counted from 1."""
    kind: str
    """Kind of the effect that was answered, or of an event that nobody asked for."""
    fp: str | None
    """Fingerprint of that effect."""
    event: Event


@dataclass(frozen=True, slots=True)
class Recorded:
    """A journal that was read back."""

    plan: Plan
    records: tuple[Record, ...]
    text: str = field(repr=False)
    """The journal as it stands in the file."""
    source: str
    """Where it was read from, for messages."""

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, for :func:`toolreel.fold`."""
        return tuple(record.event for record in self.records)

    @property
    def digest(self) -> str:
        """SHA-256 of the journal's text: two runs with the same digest are the same run."""
        return digest(self.text)


class MemoryJournal:
    """A journal in memory."""

    def __init__(self, plan: Plan) -> None:
        self.lines = [_header(plan)]

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Keep an event and the effect that it answered."""
        self.lines.append(_line(len(self.lines), effect, event))

    @property
    def text(self) -> str:
        """The journal as a file would hold it."""
        return "".join(line + "\n" for line in self.lines)


class FileJournal:
    """A journal on disk, a line at a time, so that a killed run loses at most what was under way.

    Lines go to ``<path>.part``, which gets its name when the journal is closed.

    :param known_secrets: values by name that must not be written
    :raises JournalError: if the file, or what a killed run has left of it, exists and ``overwrite`` is
        not given, or if it cannot be written; so for all methods
    :raises SecretFound: if the plan holds a secret; nothing is written
    """

    def __init__(
        self,
        path: Path,
        plan: Plan,
        *,
        known_secrets: Mapping[str, str] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._secrets = known_secrets or {}
        self._written = 0
        header = self._checked(_header(plan))
        for taken in (path, self._part):
            if taken.exists() and not overwrite:
                raise JournalError(f"{taken} exists; record under another name, or overwrite it")
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._part.open("w", encoding="utf-8", newline="\n")
        try:
            self._write(header)
        except JournalError:
            with suppress(OSError):
                self._file.close()
            self._part.unlink()
            raise

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Write an event and the effect that it answered.

        :raises SecretFound: if the line holds a secret; it is not written
        """
        said = spoken(event.body) if isinstance(event, ReplyReceived) else ()
        self._write(self._checked(_line(self._written, effect, event), *said))

    def close(self) -> None:
        """Give the journal its name; what was recorded so far is whole."""
        if self._file.closed:
            return
        with _writing(self.path):
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
            self._part.replace(self.path)

    def _checked(self, line: str, *said: str) -> str:
        if found := [leak for text in (line, *said) for leak in leaks(text, self._secrets)]:
            raise SecretFound(
                f"{self.path}, line {self._written + 1}: not written, it holds {found[0].kind}; "
                "keep secrets out of prompts and tool results"
            )
        return line

    def _write(self, line: str) -> None:
        with _writing(self.path):
            self._file.write(line + "\n")
            self._file.flush()
        self._written += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def read_journal(path: Path) -> Recorded:
    """Read a journal from a file.

    :raises JournalError: if it cannot be read; names the line and the remedy
    """
    try:
        return parse_journal(path.read_bytes().decode("utf-8"), str(path))
    except FileNotFoundError:
        raise JournalError(
            f"{path}: there is no such journal; record one with `toolreel run --record`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise JournalError(f"{path}: not a readable journal: {error}") from None


def parse_journal(text: str, source: str = "journal") -> Recorded:
    """Read a journal from its text."""
    if not text.strip():
        raise JournalError(f"{source}: the journal is empty; record it again")
    if not text.endswith("\n"):
        raise JournalError(f"{source}: the last line is cut; record it again, or remove that line")
    header, *lines = text.split("\n")[:-1]  # not splitlines: U+2028 and its like stand in texts as they are
    plan = _plan(_object(header, f"{source}, line 1"), f"{source}, line 1")
    records = [
        _record(_object(line, f"{source}, line {number}"), number - 1, f"{source}, line {number}")
        for number, line in enumerate(lines, 2)
    ]
    return Recorded(plan, tuple(records), text, source)


@contextmanager
def _writing(path: Path) -> Generator[None]:
    """What the file system refuses is the journal's error."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path}: cannot be written: {error.strerror or error}") from error


def _header(plan: Plan) -> str:
    return canonical(
        {"toolreel_journal": FORMAT, "codec": VERSION, "digest": plan.digest, "plan": encode(plan)}
    )


def _line(n: int, effect: Wanted | None, event: Event) -> str:
    if effect is None or not isinstance(event, ANSWERS[type(effect)]):
        return canonical({"n": n, "kind": tag(type(event)), "fp": None, "event": encode(event)})
    return canonical({"n": n, "kind": tag(type(effect)), "fp": fingerprint(effect), "event": encode(event)})


def _object(line: str, place: str) -> Mapping[str, Json]:
    tree = either(read(line))
    if not isinstance(tree, Mapping):
        raise JournalError(
            f"{place}: not a line of a journal: {tree if isinstance(tree, str) else 'no object'}"
        )
    return tree


def _plan(header: Mapping[str, Json], place: str) -> Plan:
    if header.get("toolreel_journal") != FORMAT:
        raise JournalError(f"{place}: not the header of a journal of version {FORMAT}")
    if header.get("codec") != VERSION:
        raise JournalError(f"{place}: events of version {header.get('codec')}; this toolreel reads {VERSION}")
    try:
        plan = decode_plan(header.get("plan"))
    except CodecError as error:
        raise JournalError(f"{place}: {error}") from None
    if plan.digest != header.get("digest"):
        raise JournalError(f"{place}: the plan does not fit its digest; it was edited, record it again")
    return plan


def _record(tree: Mapping[str, Json], n: int, place: str) -> Record:
    match tree:
        case {"n": int() as number, "kind": str() as kind, "fp": (str() | None) as fp, "event": event} if (
            len(tree) == 4
        ):
            if number != n:
                raise JournalError(
                    f"{place}: record {number} stands where {n} is expected; a line is missing"
                )
        case _:
            raise JournalError(f"{place}: expected the keys n, kind, fp and event")
    try:
        return Record(n, kind, fp, decode_event(event))
    except CodecError as error:
        raise JournalError(f"{place}: {error}") from None
