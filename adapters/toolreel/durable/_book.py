"""The journal of a durable run, in lines that its steps store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolreel._driver import Lap, Wanted
from toolreel._internal import DurableError, SecretFound
from toolreel._journal import Recorded, event_line, parse_journal, withhold_result
from toolreel._replay import retrace
from toolreel._secrets import refuse_secrets
from toolreel.durable._store import Written
from toolreel_core._errors import ReplayMismatch
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CancelRequested,
    Event,
    State,
    ToolReturned,
    blob_lines,
    blobs_in,
    header_line,
)

HIDDEN: Final = "a reply was not stored, because it holds a secret"


def plan_lines(plan: Plan, secrets: Mapping[str, str]) -> str:
    """The first lines of the journal of a run: what is written of its plan, once."""
    header = header_line(plan)
    refuse_secrets(header, secrets, "the plan", blobs_in(plan))
    return "".join(f"{line}\n" for line in (header, *blob_lines(plan).values()))


def event_number(line: str) -> int:
    """The number of an event's line; 0 for a line with a blob.

    >>> event_number('{"n":3,"kind":"wait"}'), event_number('{"blob":"…"}')
    (3, 0)
    """
    return int(line[5 : line.index(",")]) if line.startswith('{"n":') else 0


def journal_text(plan: str, stored: Iterable[Written]) -> str:
    """The journal that the steps of all segments tell, each event with its blobs, up to the first gap.

    Of an event that two segments have stored, the first counts.
    """
    whole, events = list[str](), 0
    for written in stored:
        with_event: list[str] = []
        for line in written.lines:
            with_event.append(line)
            if number := event_number(line):
                if number == events + 1:
                    events = number
                    whole += with_event
                with_event = []
    return plan + "".join(f"{line}\n" for line in whole)


def fold_stored(text: str, source: str) -> tuple[Recorded, State]:
    """Read what is stored of a run, and fold it; each effect has to be the one that was recorded."""
    recorded = parse_journal(text, source)
    try:
        return recorded, retrace(recorded).run.state
    except ReplayMismatch as drift:
        raise DurableError(
            f"{source}: this release of toolreel would do something else than what is recorded ({drift}). "
            "Nothing was changed. Finish it with a worker of the release that began it, after `toolreel "
            "durable adopt --failed` there; or export it and fork it"
        ) from None


class Book:
    """The journal of a run under way: collects the lines that its next step stores."""

    keeps_times: Final = True

    def __init__(self, recorded: Recorded, secrets: Mapping[str, str]) -> None:
        self.events = len(recorded.records)
        self._lines: list[str] = []
        self._blobs: dict[str, str] = blob_lines(recorded.plan)
        for event in recorded.events:
            self._blobs |= blob_lines(event, self._blobs)
        self._secrets = secrets
        self._source = recorded.source

    def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
        """Write an event; for one with a secret, write and return what stands for it."""
        number = self.events + 1
        line, place = event_line(number, effect, event, lap), f"{self._source}, event {number}"
        try:
            refuse_secrets(line, self._secrets, place, blobs_in(event))
        except SecretFound:
            if isinstance(event, ToolReturned):
                event = withhold_result(event, "secret")
            else:
                event = CancelRequested(HIDDEN)
            line = event_line(number, effect, event, lap)
        blobs = blob_lines(event, self._blobs)
        self._blobs |= blobs
        self._lines += (*blobs.values(), line)
        self.events = number
        return event

    def take_lines(self) -> tuple[str, ...]:
        """The lines since they were last taken."""
        lines, self._lines = self._lines, []
        return (*lines,)
