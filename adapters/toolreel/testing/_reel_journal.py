"""The journal of one run in a test: compared with the recorded one, or replacing it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from toolreel._driver import Wanted
from toolreel._journal import FileJournal, MemoryJournal, Recorded
from toolreel._replay import AllowedDifferences
from toolreel._secrets import refuse_secrets_in_line
from toolreel.cassette import Change, first_change
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import JsonText, parse
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event


class ReelJournal:
    """Collects the events of a run.

    :param allowed: what may differ from the recorded events
    """

    def __init__(
        self, plan: Plan, path: Path, recorded: Recorded | None, allowed: AllowedDifferences | None = None
    ) -> None:
        self.path = path
        self.recorded = recorded
        self.allowed = allowed
        self._plan = plan
        self._kept: list[tuple[Wanted | None, Event]] = []
        self._memory = MemoryJournal(plan)

    @property
    def text(self) -> str:
        """The content of the journal file."""
        return self._memory.text

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Record an event and the effect that it answers."""
        self._kept.append((effect, event))
        self._memory.record(effect, event)

    def check(self, *, whole: bool = True) -> None:
        """Fail if the events differ from the recorded ones.

        The plan is not compared: a changed limit that has no effect is not a difference.

        :param whole: whether the run is over; else the recorded events may go on
        :raises ReplayMismatch: at the first difference
        """
        if self.recorded is None:
            return
        was, now = self.recorded.text.splitlines()[1:], self._memory.lines[1:]
        was = was if whole else was[: len(now)]
        for number, (old, new) in enumerate(zip_longest(was, now), 1):
            if old != new and not self._is_allowed(number):
                raise ReplayMismatch(f"{self.path}: {_first_difference(number, old, new)}")

    def _is_allowed(self, number: int) -> bool:
        """Whether the rules explain why this event differs."""
        if self.allowed is None or self.recorded is None:
            return False
        records = self.recorded.records
        if number > min(len(records), len(self._kept)):
            return False
        return self.allowed.matches(records[number - 1], *self._kept[number - 1])

    def refuse_secrets(self, known: Mapping[str, str]) -> None:
        """Fail if it contains a secret.

        :raises SecretFound: names the place, never the secret
        """
        for number, line in enumerate(self._memory.lines, 1):
            refuse_secrets_in_line(line, known, f"{self.path}, line {number}")

    def save(self, known: Mapping[str, str]) -> None:
        """Write it, replacing an existing file."""
        with FileJournal(self.path, self._plan, known_secrets=known, overwrite=True) as file:
            for effect, event in self._kept:
                file.record(effect, event)


def _first_difference(number: int, old: str | None, new: str | None) -> str:
    if old is None:
        return f"the run continued after the {number - 1} recorded events"
    if new is None:
        return f"the run ended before recorded event {number}"
    first = first_change(parse(JsonText(old)), parse(JsonText(new))) or Change("", old, new)
    return (
        f"event {number} is not the recorded one; first change: {first.place}\n"
        f"  recorded: {first.old}\n  now:      {first.new}"
    )
