"""A run under way, taken further one answer at a time, by whoever has the answers."""

from __future__ import annotations

from typing import NamedTuple

from toolreel._driver.ports import Wanted
from toolreel._driver.run import Run
from toolreel_core._loop.reducer import start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Finish
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.state import Step

__all__ = ["Answered", "Underway"]


class Answered(NamedTuple):
    """An event of a run, and what it answered."""

    effect: Wanted | None
    """``None`` for an event that nobody asked for."""
    event: Event


class Underway:
    """A run from its plan on: what it still wants, and everything that it was told."""

    def __init__(self, plan: Plan) -> None:
        at = start(plan)
        self.state = at.state
        self.wanted: dict[int, Wanted] = {}
        """What was not answered yet, by ``ref``; what a run that has ended had wanted counts, too."""
        self.answered: list[Answered] = []
        self._notes = [*at.notes]
        self._want(at)

    def take(self, effect: Wanted | None, event: Event) -> None:
        """Go on with an event that answers one of the effects, or with one that nobody asked for.

        :raises toolreel.ProtocolError: if the run cannot take it
        """
        at = step(self.state, event)
        self.answered.append(Answered(effect, event))
        self.state = at.state
        self._notes += at.notes
        if effect is not None:
            del self.wanted[effect.ref]
        self._want(at)

    @property
    def run(self) -> Run:
        """The run as far as it has come."""
        return Run(self.state, tuple(self._notes))

    def _want(self, at: Step) -> None:
        self.wanted |= {effect.ref: effect for effect in at.effects if not isinstance(effect, Finish)}
