"""``Run``: the result of a driver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from toolreel_core._loop.reducer import pending, start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Effect
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import Completed, Outcome
from toolreel_core._protocol.state import Settled, State


@dataclass(frozen=True, slots=True)
class Resting:
    """The run has not ended: it rests until something outside is done, such as an approval."""

    name: ClassVar[str] = "resting"
    waits_for: tuple[Effect, ...]
    """The effects that nobody has answered yet."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run that has ended or paused."""

    state: State
    """The last state: conversation, counters (turns, tokens, time) and outcome."""
    notes: tuple[Note, ...]
    """All notes (decisions of the run), in order."""

    @property
    def outcome(self) -> Outcome | Resting:
        """How the run ended, or what it rests at, for example an approval that nobody has given."""
        return outcome_of(self) or Resting(pending(self.state))

    @property
    def completed(self) -> bool:
        """Whether the model gave a final answer."""
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
