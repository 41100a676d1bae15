"""Stopwatches of runs whose time is limited: they put the time on events, and tell the ports what is left."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from math import inf
from typing import Generic, Self, TypeVar

from toolreel._driver.clocks import ending_at
from toolreel._driver.ports import (
    AsyncPerformer,
    AsyncStreamingPerformer,
    Performer,
    StreamingPerformer,
    Wanted,
)
from toolreel._driver.streaming.pulling import apulled, pulled
from toolreel_core._protocol import CancelRequested, Event, RunStarted, SendRequest, State, UserSpoke
from toolreel_core._replies import Delta

_Performer = TypeVar("_Performer")


@dataclass(frozen=True, slots=True)
class _Timed(Generic[_Performer]):
    performer: _Performer
    started: float = field(default_factory=time.monotonic)
    seconds: float = inf
    """How long after the start the exchange has to be over."""

    @classmethod
    def where_wanted(cls, performer: _Performer, state: State) -> _Performer | Self:
        """The performer, timed if the plan limits the time; a continued run keeps its time so far."""
        limit = state.plan.config.max_wall_ms
        if limit is None:
            return performer
        ends_at_ms = state.exchange_began.at_ms + limit
        return cls(performer, time.monotonic() - state.tally.at_ms / 1000, ends_at_ms / 1000)


@dataclass(frozen=True, slots=True)
class Stopwatch(_Timed[Performer]):
    """A performer that stamps events with the milliseconds since the run began.

    The core has no clock: time reaches it only on events, so that a replay makes the same decisions.
    """

    def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect, and stamp the event with the time."""
        with ending_at(self.started + self.seconds):
            return _stamped(self.performer.perform(effect), self.started)

    def stream(self, effect: SendRequest) -> Generator[Delta | Event | None, None, None]:
        """Each piece of the reply, and last the event with the time."""
        if not isinstance(self.performer, StreamingPerformer):
            event = self.perform(effect)
            yield event
            return
        pieces = self.performer.stream(effect)
        with closing(pulled(pieces, lambda: ending_at(self.started + self.seconds))) as pulls:
            for piece in pulls:
                yield piece if isinstance(piece, Delta) else _stamped(piece, self.started)


@dataclass(frozen=True, slots=True)
class AsyncStopwatch(_Timed[AsyncPerformer]):
    """The async version of :class:`Stopwatch`."""

    async def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect, and stamp the event with the time."""
        with ending_at(self.started + self.seconds):
            return _stamped(await self.performer.perform(effect), self.started)

    async def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | Event | None, None]:
        """Each piece of the reply, and last the event with the time."""
        if not isinstance(self.performer, AsyncStreamingPerformer):
            event = await self.perform(effect)
            yield event
            return
        pieces = self.performer.stream(effect)
        async with aclosing(apulled(pieces, lambda: ending_at(self.started + self.seconds))) as pulls:
            async for piece in pulls:
                yield piece if isinstance(piece, Delta) else _stamped(piece, self.started)


_Any = TypeVar("_Any")


def timed_anew(performer: _Any, state: State) -> _Any:
    """The performer with the limit of the present exchange, which may have begun since it was made."""
    limit = state.plan.config.max_wall_ms
    if limit is None or not isinstance(performer, _Timed):
        return performer
    return replace(performer, seconds=(state.exchange_began.at_ms + limit) / 1000)


def _stamped(event: Event | None, started: float) -> Event | None:
    # An event that has a time comes from a recording, and keeps it.
    if (
        event is None
        or isinstance(event, (RunStarted, CancelRequested, UserSpoke))
        or event.at_ms is not None
    ):
        return event
    return replace(event, at_ms=round((time.monotonic() - started) * 1000))
