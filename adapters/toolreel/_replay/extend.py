"""Going on with a recorded run: its journal answers as far as it goes, and the live side after that."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from toolreel._driver.ports import AsyncPerformer, Performer, Wanted
from toolreel._journal.record import Record, Recorded
from toolreel._replay.replayer import AsyncRehearsal, Rehearsal
from toolreel_core._protocol.events import CancelRequested, Event

__all__ = ["AsyncExtending", "Extending", "uncancelled"]


class Extending:
    """A performer that rehearses a journal and hands what is wanted after its last line to another."""

    def __init__(self, rehearsal: Rehearsal, live: Performer) -> None:
        self._rehearsal = rehearsal
        self._live = live

    def perform(self, effect: Wanted) -> Event | None:
        """The recorded event, or a new one.

        :raises toolreel.ReplayMismatch: if another effect was wanted when the run was recorded
        """
        return (self._live if self._rehearsal.over else self._rehearsal).perform(effect)


class AsyncExtending:
    """The same as :class:`Extending`, awaited."""

    def __init__(self, rehearsal: AsyncRehearsal, live: AsyncPerformer) -> None:
        self._rehearsal = rehearsal
        self._live = live

    async def perform(self, effect: Wanted) -> Event | None:
        """The recorded event, or a new one.

        :raises toolreel.ReplayMismatch: if another effect was wanted when the run was recorded
        """
        return await (self._live if self._rehearsal.over else self._rehearsal).perform(effect)


def uncancelled(recorded: Recorded) -> Recorded:
    """A journal up to where somebody stopped its run, which can go on from there."""

    def went_on(record: Record) -> bool:
        return not isinstance(record.event, CancelRequested)

    return replace(recorded, records=tuple(takewhile(went_on, recorded.records)))
