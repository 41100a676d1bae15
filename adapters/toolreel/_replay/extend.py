"""Performers that replay a journal to its end, then continue live."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from toolreel._driver.ports import AsyncPerformer, Performer, Wanted
from toolreel._journal.record import Record, Recorded
from toolreel._replay.replayer import AsyncRehearsal, Rehearsal
from toolreel_core._protocol.events import CancelRequested, Event


class Extending:
    """A performer that answers from a journal; after its last line, another performer answers."""

    def __init__(self, rehearsal: Rehearsal, live: Performer) -> None:
        self._rehearsal = rehearsal
        self._live = live

    def perform(self, effect: Wanted) -> Event | None:
        """The recorded event, or a new one.

        :raises toolreel.ReplayMismatch: if the recorded effect was another one
        """
        return (self._live if self._rehearsal.over else self._rehearsal).perform(effect)


class AsyncExtending:
    """The async version of :class:`Extending`."""

    def __init__(self, rehearsal: AsyncRehearsal, live: AsyncPerformer) -> None:
        self._rehearsal = rehearsal
        self._live = live

    async def perform(self, effect: Wanted) -> Event | None:
        """The recorded event, or a new one.

        :raises toolreel.ReplayMismatch: if the recorded effect was another one
        """
        return await (self._live if self._rehearsal.over else self._rehearsal).perform(effect)


def uncancelled(recorded: Recorded) -> Recorded:
    """A journal without its cancellation and what follows, so that the run can continue."""

    def went_on(record: Record) -> bool:
        return not isinstance(record.event, CancelRequested)

    return replace(recorded, records=tuple(takewhile(went_on, recorded.records)))
