"""The journal of one run in a test: held against the record, or written in its stead."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from toolreel._driver.ports import Wanted
from toolreel._journal.file import FileJournal
from toolreel._journal.record import MemoryJournal, Recorded
from toolreel._secrets.locations import refuse_secrets_in_line
from toolreel.cassette._request_diff import first_change
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext.canonical import JsonText, parse
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import Event

__all__ = ["ReelJournal"]


class ReelJournal:
    """Keeps the events of a run.

    :param path: where it is written
    :param recorded: what stands there, if the run is a replay
    """

    def __init__(self, plan: Plan, path: Path, recorded: Recorded | None) -> None:
        self.path = path
        self.recorded = recorded
        self._plan = plan
        self._kept: list[tuple[Wanted | None, Event]] = []
        self._memory = MemoryJournal(plan)

    @property
    def text(self) -> str:
        """The journal as a file would hold it."""
        return self._memory.text

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Keep an event and the effect that it answered."""
        self._kept.append((effect, event))
        self._memory.record(effect, event)

    def check(self) -> None:
        """Fail if the events are not the recorded ones.

        The plan is no part of it: a limit that was changed and changes nothing is no drift.

        :raises ReplayMismatch: at the first difference
        """
        if self.recorded is None:
            return
        was, now = self.recorded.text.splitlines()[1:], self._memory.lines[1:]
        for number, (old, new) in enumerate(zip_longest(was, now), 1):
            if old != new:
                raise ReplayMismatch(f"{self.path}: {_difference(number, old, new)}")

    def refuse_secrets(self, known: Mapping[str, str]) -> None:
        """Fail if a secret stands in it.

        :raises SecretFound: says where, never what
        """
        for number, line in enumerate(self._memory.lines, 1):
            refuse_secrets_in_line(line, known, f"{self.path}, line {number}")

    def save(self, known: Mapping[str, str]) -> None:
        """Write it in the place of what stands there."""
        with FileJournal(self.path, self._plan, known_secrets=known, overwrite=True) as file:
            for effect, event in self._kept:
                file.record(effect, event)


def _difference(number: int, old: str | None, new: str | None) -> str:
    if old is None:
        return f"the run went on after the {number - 1} events that were recorded"
    if new is None:
        return f"the run ended before event {number} of the record"
    change = first_change(parse(JsonText(old)), parse(JsonText(new)))
    place, was, now = (change.place, change.old, change.new) if change else ("", old, new)
    return (
        f"event {number} is not the recorded one; first change: {place}\n  recorded: {was}\n  now:      {now}"
    )
