"""``Run``: the result of a driver; and the stopwatch of runs whose time is limited."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

from toolreel._driver.ports import AsyncPerformer, Performer, Wanted
from toolreel_core._errors import ProtocolError
from toolreel_core._loop.reducer import start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import CancelRequested, Event, RunStarted
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import Completed, Outcome
from toolreel_core._protocol.state import Settled, State

_Performer = TypeVar("_Performer")


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run that has ended or paused."""

    state: State
    """The last state: conversation, counters (turns, tokens, time) and outcome."""
    notes: tuple[Note, ...]
    """All notes (decisions of the run), in order."""

    @property
    def outcome(self) -> Outcome:
        """How the run ended.

        :raises toolreel.ProtocolError: if the run has not ended, for example because it waits for an approval
        """
        match self.state.phase:
            case Settled() as settled:
                return settled.outcome
            case phase:
                raise ProtocolError(f"the run has not ended, it is in phase {type(phase).__name__}")

    @property
    def completed(self) -> bool:
        """Whether the model gave a final answer.

        :raises toolreel.ProtocolError: as for :attr:`outcome`
        """
        return isinstance(self.outcome, Completed)


def outcome_of(run: Run) -> Outcome | None:
    """The outcome of a run; ``None`` if it has not ended."""
    match run.state.phase:
        case Settled() as settled:
            return settled.outcome
        case _:
            return None


def retold(plan: Plan, events: Iterable[Event]) -> Run:
    """The run that results from a plan and its events, with all notes."""
    at = start(plan)
    notes = [*at.notes]
    for event in events:
        at = step(at.state, event)
        notes += at.notes
    return Run(at.state, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Timed(Generic[_Performer]):
    performer: _Performer
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def where_wanted(cls, performer: _Performer, state: State) -> _Performer | Self:
        """The performer, timed if the plan limits the time; a continued run keeps its time so far."""
        if state.plan.config.max_wall_ms is None:
            return performer
        return cls(performer, time.monotonic() - state.tally.at_ms / 1000)


@dataclass(frozen=True, slots=True)
class Stopwatch(_Timed[Performer]):
    """A performer that stamps events with the milliseconds since the run began.

    The core has no clock: time reaches it only on events, so that a replay makes the same decisions.
    """

    def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect, and stamp the event with the time."""
        return _stamped(self.performer.perform(effect), self.started)


@dataclass(frozen=True, slots=True)
class AsyncStopwatch(_Timed[AsyncPerformer]):
    """The async version of :class:`Stopwatch`."""

    async def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect, and stamp the event with the time."""
        return _stamped(await self.performer.perform(effect), self.started)


def _stamped(event: Event | None, started: float) -> Event | None:
    # An event that has a time comes from a recording, and keeps it.
    if event is None or isinstance(event, (RunStarted, CancelRequested)) or event.at_ms is not None:
        return event
    return replace(event, at_ms=round((time.monotonic() - started) * 1000))
