"""Telling a run what time it is, where its plan limits that: on the events, so that a replay knows it too."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from toolreel.events import CancelRequested, Event, RunStarted
from toolreel_adapters.ports import AsyncPerformer, Performer, Wanted

__all__ = ["AsyncStopwatch", "Stopwatch"]


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """A performer whose events carry the milliseconds since it was made."""

    performer: Performer
    started: float = field(default_factory=time.monotonic)

    def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect, and say when its answer came."""
        return _stamped(self.performer.perform(effect), self.started)


@dataclass(frozen=True, slots=True)
class AsyncStopwatch:
    """The same as :class:`Stopwatch`, awaited."""

    performer: AsyncPerformer
    started: float = field(default_factory=time.monotonic)

    async def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect, and say when its answer came."""
        return _stamped(await self.performer.perform(effect), self.started)


def _stamped(event: Event | None, started: float) -> Event | None:
    if event is None or isinstance(event, (RunStarted, CancelRequested)):
        return event
    return replace(event, at_ms=round((time.monotonic() - started) * 1000))
