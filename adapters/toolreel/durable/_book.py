"""The journal of a run under way: folds its events, and writes each as the line that its step stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolreel._driver import Lap, Wanted, Watches
from toolreel._internal import DurableError, SecretFound
from toolreel._journal import Recorded, event_line, parse_journal, withhold_result
from toolreel._replay import retrace
from toolreel._secrets import refuse_secrets
from toolreel.durable._store import Written
from toolreel_core._errors import ReplayMismatch
from toolreel_core._loop import pending, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CancelRequested,
    Event,
    Settled,
    State,
    ToolReturned,
    blob_lines,
    blobs_in,
    header_line,
)

HIDDEN: Final = "a reply was not stored, because it holds a secret"


def plan_lines(plan: Plan, secrets: Mapping[str, str]) -> str:
    """The first lines of the journal of a run: what is written of its plan, once.

    :raises SecretFound: if the plan contains a secret
    """
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
    """Read what is stored of a run, and fold it; each effect has to be the one that was recorded.

    :raises DurableError: if the reducer of this release wants another effect; nothing was changed
    """
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
    """A run under way: its state, and the lines that its next step stores."""

    def __init__(self, recorded: Recorded, state: State, secrets: Mapping[str, str]) -> None:
        self.state = state
        self.events = len(recorded.records)
        self._blobs: dict[str, str] = blob_lines(recorded.plan)
        for event in recorded.events:
            self._blobs |= blob_lines(event, self._blobs)
        self._secrets = secrets
        self._source = recorded.source
        self.watches = Watches([], state, None)
        """What watches the run while its effects are performed."""

    @property
    def next_effect(self) -> Wanted | None:
        """The next effect that is to be performed."""
        return next(iter(pending(self.state)), None)

    def record_event(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> tuple[str, ...]:
        """Take an event, and return its lines: of one with a secret, those of what stands for it.

        Nothing is written of a cancellation that comes after the end.
        """
        if isinstance(event, CancelRequested) and isinstance(self.state.phase, Settled):
            return ()
        number = self.events + 1
        line, place = event_line(number, effect, event, lap), f"{self._source}, event {number}"
        try:
            refuse_secrets(line, self._secrets, place, blobs_in(event))
        except SecretFound:
            event = (
                withhold_result(event, "secret")
                if isinstance(event, ToolReturned)
                else CancelRequested(HIDDEN)
            )
            line = event_line(number, effect, event, lap)
        blobs = blob_lines(event, self._blobs)
        self._blobs |= blobs
        after = step(self.state, event)
        self.watches.stepped(effect, event, after)
        self.state = after.state
        self.events = number
        return (*blobs.values(), line)
