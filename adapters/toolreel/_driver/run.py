"""What a driver gives back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolreel_core._errors import ProtocolError
from toolreel_core._loop.reducer import start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import Completed, Outcome
from toolreel_core._protocol.state import Settled, State

__all__ = ["Run", "outcome_of", "retold"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended."""

    state: State
    """The last state: history, tally and outcome."""
    notes: tuple[Note, ...]
    """Everything that was decided on the way, in order."""

    @property
    def outcome(self) -> Outcome:
        """How the run ended.

        :raises toolreel.ProtocolError: if it has not
        """
        match self.state.phase:
            case Settled() as settled:
                return settled.outcome
            case phase:
                raise ProtocolError(f"the run is not over, it is in phase {type(phase).__name__}")

    @property
    def completed(self) -> bool:
        """Whether the model gave a final answer."""
        return isinstance(self.outcome, Completed)


def outcome_of(run: Run) -> Outcome | None:
    """How a run ended; ``None`` if it has not."""
    match run.state.phase:
        case Settled() as settled:
            return settled.outcome
        case _:
            return None


def retold(plan: Plan, events: Iterable[Event]) -> Run:
    """The run that a plan and its events amount to, with everything that was decided on the way."""
    at = start(plan)
    notes = [*at.notes]
    for event in events:
        at = step(at.state, event)
        notes += at.notes
    return Run(at.state, tuple(notes))
