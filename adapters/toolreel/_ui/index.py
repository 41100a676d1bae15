"""What the page lists, kept up to date: what has changed since a version that a browser has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from toolreel._ui.directory import Found, facts_of, found_in
from toolreel._ui.entry import Entry, Facts
from toolreel_core._jsontext.canonical import Json

_AT_ONCE: Final = 50
"""Entries that are read between two looks at what is wanted first."""


class DurableSource(Protocol):
    """Durable runs of a database."""

    def entries(self) -> Sequence[Entry]:
        """The newest ones, as they are now."""
        ...


@dataclass(slots=True)
class _Line:
    entry: Entry
    changed: int
    """The version of the index in which it changed last."""
    found: Found | None = None
    is_read: bool = False
    """Whether its facts are those of its present content."""


class Index:
    """Entries by key. Names are listed at once; contents are read one by one, those that are seen first.

    :param root: the directory
    :param durable: the runs of a database
    :param read: what is known of an entry, from its content
    """

    def __init__(
        self,
        root: Path,
        durable: DurableSource | None = None,
        read: Callable[[Found], Facts | None] = facts_of,
    ) -> None:
        self._root, self._durable, self._read = root, durable, read
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}
        self._gone: dict[str, int] = {}
        self._foreign: set[tuple[str, int]] = set()
        """Files that are no recordings, each with the time of the content that said so."""
        self._wanted: list[str] = []
        self._version = 0
        self._trouble = ""

    def look(self) -> None:
        """Take up what was added, changed or removed since the last time."""
        found = {each.key: each for each in found_in(self._root)}
        durable = self._durable_entries()
        with self._lock:
            self._version += 1
            for key, each in found.items():
                line = self._lines.get(key)
                if (key, each.modified_ns) in self._foreign:
                    continue
                if line is None or line.found is None or line.found != each:
                    facts = None if line is None else line.entry.facts
                    self._put(replace(each.entry, facts=facts), each)
                    self._wanted.append(key)
            for entry in durable:
                if (known := self._lines.get(entry.key)) is None or known.entry != entry:
                    self._put(entry, None)
            kept = {*found, *(entry.key for entry in durable)}
            for key in [*self._lines]:
                # While its database is away, a run stays in the list as it was.
                if key not in kept and (self._lines[key].found is not None or not self._trouble):
                    self._drop(key)

    def changes(self, since: int) -> Json:
        """What has changed since a version: lines, keys that are gone, and the version now."""
        with self._lock:
            lines: list[Json] = [line.entry.tree() for line in self._lines.values() if line.changed > since]
            gone: list[Json] = [key for key, changed in self._gone.items() if changed > since]
            unread = sum(line.entry.facts is None for line in self._lines.values())
            return {
                "version": self._version,
                "lines": lines,
                "gone": gone,
                "unread": unread,
                "trouble": self._trouble,
            }

    def want(self, keys: Iterable[str]) -> None:
        """Read these first: somebody looks at them."""
        with self._lock:
            self._wanted += [key for key in keys if key in self._lines]

    def found(self, key: str) -> Found | None:
        """The file of an entry; ``None`` if there is none with this key."""
        with self._lock:
            line = self._lines.get(key)
            return None if line is None else line.found

    def has(self, key: str) -> bool:
        """Whether there is an entry with this key."""
        with self._lock:
            return key in self._lines

    def read_some(self) -> bool:
        """Read entries that nobody has read; whether any was left."""
        for _ in range(_AT_ONCE):
            with self._lock:
                found = self._next()
            if found is None:
                return False
            facts = self._read(found)
            with self._lock:
                self._take(found, facts)
        return True

    def _next(self) -> Found | None:
        """The one that was wanted last: what is on the screen comes before what was merely listed."""
        while self._wanted:
            line = self._lines.get(self._wanted.pop())
            if line is not None and line.found is not None and not line.is_read:
                return line.found
        return None

    def _take(self, found: Found, facts: Facts | None) -> None:
        key = found.key
        line = self._lines.get(key)
        if line is None or line.found != found:
            return  # it has changed meanwhile, and will be read again
        self._version += 1
        if facts is None:
            self._foreign.add((key, found.modified_ns))
            self._drop(key)
        else:
            line.entry, line.changed = replace(found.entry, facts=facts), self._version
            line.is_read = True

    def _put(self, entry: Entry, found: Found | None) -> None:
        self._gone.pop(entry.key, None)
        self._lines[entry.key] = _Line(entry, self._version, found)

    def _drop(self, key: str) -> None:
        del self._lines[key]
        self._gone[key] = self._version

    def _durable_entries(self) -> Sequence[Entry]:
        if self._durable is None:
            return ()
        try:
            entries = self._durable.entries()
        except Exception as error:  # noqa: BLE001 - a database that is away is shown, and asked again
            self._trouble = f"the database cannot be read: {type(error).__name__}"
            return ()
        self._trouble = ""
        return entries
