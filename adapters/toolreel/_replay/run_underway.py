"""A run in progress that its caller feeds with events, as a fork does."""

from __future__ import annotations

from typing import NamedTuple

from toolreel._driver import Run, Wanted
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import Finish, Note, Step, events


class Answered(NamedTuple):
    """An event of a run, and the effect that it answers."""

    effect: Wanted | None
    """``None`` for an event that answers none, such as a cancellation."""
    event: events.Event


class Underway:
    """A run in progress: its state, its pending effects and its events."""

    def __init__(self, plan: Plan) -> None:
        at = start(plan)
        self.state = at.state
        self.wanted: dict[int, Wanted] = {}
        """Pending effects by ``ref``; they stay after the end of the run, since answers may arrive late."""
        self.answered: list[Answered] = []
        self._notes = [*at.notes]
        self._want(at)

    def take(self, effect: Wanted | None, event: events.Event) -> tuple[Note, ...]:
        """Feed an event that answers one of the pending effects, or none; returns what the run notes of it.

        :raises toolreel.ProtocolError: if the event does not fit the state
        """
        at = step(self.state, event)
        self.answered.append(Answered(effect, event))
        self.state = at.state
        self._notes += at.notes
        if effect is not None:
            del self.wanted[effect.ref]
        self._want(at)
        return at.notes

    @property
    def run(self) -> Run:
        """The run so far."""
        return Run(self.state, tuple(self._notes))

    def _want(self, at: Step) -> None:
        self.wanted |= {effect.ref: effect for effect in at.effects if not isinstance(effect, Finish)}
