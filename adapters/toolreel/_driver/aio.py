"""The driver for asyncio and trio: the async version of :mod:`toolreel._driver.sync`.

It imports no async runtime (anyio only for parallel effects): it runs wherever its performer runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolreel._driver.inbox import Incoming, hear, hear_before, message_of, state_of
from toolreel._driver.ports import AsyncPerformer, Journal, Observer, Wanted, secrets_of, tell, withhold
from toolreel._driver.run_result import Run
from toolreel._driver.stopwatch import AsyncStopwatch, timed_anew
from toolreel._internal.errors import MissingExtra
from toolreel_core._loop.reducer import pending, start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Finish
from toolreel_core._protocol.events import Event, UserSpoke
from toolreel_core._protocol.state import State, Step


async def arun(
    plan: Plan,
    performer: AsyncPerformer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Run a plan until it ends, or until it pauses for an approval.

    The async version of :func:`~toolreel._driver.sync.run`, with the same parameters; ``ago_on`` continues a
    run that has paused.
    """
    return await _run(start(plan), performer, journal, observe, inbox)


async def ago_on(
    state: State,
    performer: AsyncPerformer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Continue a run that paused or was stored; effects that are still pending are performed (again).

    The async version of :func:`~toolreel._driver.sync.go_on`, with the same parameters.
    """
    return await _run(Step(state, pending(state), ()), performer, journal, observe, inbox)


async def aspeak(
    run: Run | State,
    content: str | UserSpoke,
    performer: AsyncPerformer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Say something to a run: after its end, this begins the next exchange of the same conversation.

    The async version of :func:`~toolreel._driver.sync.speak`, with the same parameters and errors.
    """
    withhold(journal, secrets_of(performer))
    said = hear(state_of(run), (message_of(content),), journal)
    return await _run(said, performer, journal, observe, inbox)


async def _run(
    at: Step,
    performer: AsyncPerformer,
    journal: Journal | None,
    observe: Observer | None,
    inbox: Incoming | None,
) -> Run:
    notes = [*at.notes]
    timed = AsyncStopwatch.where_wanted(performer, at.state)
    withhold(journal, secrets_of(performer))
    tell(observe, at.notes)
    while wanted := [effect for effect in at.effects if not isinstance(effect, Finish)]:
        timed = timed_anew(timed, at.state)
        for effect, event in await _answers(timed, wanted):
            if said := hear_before(effect, at.state, inbox, journal):
                at = said
                notes += at.notes
                tell(observe, at.notes)
            if event is None:  # an approver said "not now"
                return Run(at.state, tuple(notes))
            recorded = journal.record(effect, event) if journal is not None else None
            at = step(at.state, recorded or event)
            notes += at.notes
            tell(observe, at.notes)
        if said := hear_before(None, at.state, inbox, journal):
            at = said
            notes += at.notes
            tell(observe, at.notes)
    return Run(at.state, tuple(notes))


async def _answers(performer: AsyncPerformer, effects: Sequence[Wanted]) -> list[tuple[Wanted, Event | None]]:
    """Each effect with the event that answers it, in the order of the effects; several run concurrently.

    :raises MissingExtra: if there are several effects and anyio is not installed
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
