"""The driver for asyncio and trio: :mod:`toolreel_adapters.drive`, awaited.

It imports no runtime of its own: whatever runs the coroutine will do, as long as the performer suits it.
"""

from __future__ import annotations

from toolreel.effects import Finish
from toolreel.loop import start, step
from toolreel.plan import Plan
from toolreel.resuming import pending
from toolreel.state import State, Step
from toolreel_adapters.finished import Run
from toolreel_adapters.observing import tell
from toolreel_adapters.ports import AsyncPerformer, Journal, Observer
from toolreel_adapters.stopwatch import AsyncStopwatch
from toolreel_adapters.together import aanswers

__all__ = ["ago_on", "arun"]


async def arun(
    plan: Plan, performer: AsyncPerformer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Run a plan to its end, or to where it has to rest.

    :param performer: performs each effect, for example :class:`~toolreel_adapters.perform.AsyncPorts`
    :param journal: keeps every event before the run goes on
    :param observe: is shown every note as it comes
    :raises toolreel.ReplayMismatch: if the performer replays a recording that disagrees
    """
    return await _run(start(plan), performer, journal, observe)


async def ago_on(
    state: State,
    performer: AsyncPerformer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
) -> Run:
    """Go on with a run that rested or was stored; whatever it still waited for is performed again."""
    return await _run(Step(state, pending(state), ()), performer, journal, observe)


async def _run(at: Step, performer: AsyncPerformer, journal: Journal | None, observe: Observer | None) -> Run:
    notes = [*at.notes]
    timed = AsyncStopwatch.where_wanted(performer, at.state)
    tell(observe, at.notes)
    while wanted := [effect for effect in at.effects if not isinstance(effect, Finish)]:
        for effect, event in await aanswers(timed, wanted):
            if event is None:
                return Run(at.state, tuple(notes))
            if journal is not None:
                journal.record(effect, event)
            at = step(at.state, event)
            notes += at.notes
            tell(observe, at.notes)
    return Run(at.state, tuple(notes))
