"""The driver for asyncio and trio: :mod:`toolreel._driver.sync`, awaited.

It imports no runtime of its own: whatever runs the coroutine will do, as long as the performer suits it.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolreel._driver.observers import tell
from toolreel._driver.ports import AsyncPerformer, Journal, Observer, Wanted
from toolreel._driver.run import Run
from toolreel._driver.timing import AsyncStopwatch
from toolreel._errors import MissingExtra
from toolreel_core._loop.reducer import start, step
from toolreel_core._loop.resume import pending
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Finish
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.state import State, Step

__all__ = ["ago_on", "arun"]


async def arun(
    plan: Plan, performer: AsyncPerformer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Run a plan to its end, or to where it has to rest.

    :param performer: performs each effect, for example :class:`~toolreel._driver.performer.AsyncPorts`
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
        for effect, event in await _answers(timed, wanted):
            if event is None:
                return Run(at.state, tuple(notes))
            if journal is not None:
                journal.record(effect, event)
            at = step(at.state, event)
            notes += at.notes
            tell(observe, at.notes)
    return Run(at.state, tuple(notes))


async def _answers(performer: AsyncPerformer, effects: Sequence[Wanted]) -> list[tuple[Wanted, Event | None]]:
    """Each effect with its answer, in the order of the effects; several are performed at the same time.

    :raises MissingExtra: if several have to be performed at the same time, and anyio is not installed
    """
    if len(effects) == 1:
        return [(effects[0], await performer.perform(effects[0]))]
    try:
        import anyio
    except ImportError:
        raise MissingExtra.of("http", "anyio") from None
    found: dict[int, Event | None] = {}

    async def perform(effect: Wanted) -> None:
        found[effect.ref] = await performer.perform(effect)

    async with anyio.create_task_group() as group:
        for effect in effects:
            group.start_soon(perform, effect)
    return [(effect, found[effect.ref]) for effect in effects]
