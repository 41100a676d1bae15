"""The driver: the only loop that calls :func:`toolreel.step`. Its twin is :mod:`toolreel_adapters.adrive`."""

from __future__ import annotations

from toolreel.effects import Finish
from toolreel.loop import start, step
from toolreel.plan import Plan
from toolreel.resuming import pending
from toolreel.state import State, Step
from toolreel_adapters.finished import Run
from toolreel_adapters.observing import tell
from toolreel_adapters.ports import Journal, Observer, Performer
from toolreel_adapters.stopwatch import Stopwatch
from toolreel_adapters.together import answers

__all__ = ["go_on", "run"]


def run(
    plan: Plan, performer: Performer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Run a plan to its end, or to where it has to rest.

    :param performer: performs each effect, for example :class:`~toolreel_adapters.perform.Ports`
    :param journal: keeps every event before the run goes on
    :param observe: is shown every note as it comes
    :raises toolreel.ReplayMismatch: if the performer replays a recording that disagrees
    """
    return _run(start(plan), performer, journal, observe)


def go_on(
    state: State, performer: Performer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Go on with a run that rested or was stored; whatever it still waited for is performed again."""
    return _run(Step(state, pending(state), ()), performer, journal, observe)


def _run(at: Step, performer: Performer, journal: Journal | None, observe: Observer | None) -> Run:
    notes = [*at.notes]
    timed = Stopwatch.where_wanted(performer, at.state)
    tell(observe, at.notes)
    while wanted := [effect for effect in at.effects if not isinstance(effect, Finish)]:
        for effect, event in answers(timed, wanted):
            if event is None:
                return Run(at.state, tuple(notes))
            if journal is not None:
                journal.record(effect, event)
            at = step(at.state, event)
            notes += at.notes
            tell(observe, at.notes)
    return Run(at.state, tuple(notes))
