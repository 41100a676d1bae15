"""The driver for asyncio and trio: the async version of :mod:`toolreel._driver.sync`.

It imports no async runtime (anyio only for parallel effects): it runs wherever its performer runs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from toolreel._driver.endpoints import server_of
from toolreel._driver.first_checks import async_performer_of
from toolreel._driver.inbox import (
    Incoming,
    check_state,
    step_with_message,
    take_messages_after,
    take_messages_before,
)
from toolreel._driver.performer import EffectScopes
from toolreel._driver.ports import (
    AsyncEndpoint,
    AsyncPerformer,
    AsyncStreamingPerformer,
    Journal,
    Observer,
    Wanted,
    apulled,
    check_given,
    is_shown,
    secrets_of,
    tell,
    withhold,
)
from toolreel._driver.run_result import Run
from toolreel._driver.timing import LapTimes, record
from toolreel._driver.watch import Watches, watched
from toolreel._internal import MissingExtra
from toolreel_core._conversation import Said
from toolreel_core._loop import pending, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, Finish, State, Step, UserSpoke
from toolreel_core._replies import Delta

if TYPE_CHECKING:
    from toolreel._driver.stream_events import StreamEvent


async def arun(
    plan: Plan,
    performer: AsyncPerformer | AsyncEndpoint,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Run a plan until it ends, or until it pauses for an approval.

    The async version of :func:`~toolreel._driver.sync.run`, with the same parameters; ``ago_on`` continues a
    run that has paused.
    """
    able = async_performer_of(plan, performer)
    return await _run(start(plan), able, journal, observe, inbox)


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
    check_state(state)
    return await _run(Step(state, pending(state), ()), performer, journal, observe, inbox)


async def aspeak(
    run: Run | State,
    content: Said | UserSpoke,
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
    return await _run(step_with_message(run, content, journal), performer, journal, observe, inbox)


def astream(
    plan: Plan,
    performer: AsyncPerformer | AsyncEndpoint,
    *,
    journal: Journal | None = None,
    inbox: Incoming | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Run a plan like :func:`arun`, and yield what there is to show, as it happens.

    The async version of :func:`~toolreel._driver.sync.stream`, with the same parameters. If you may stop
    before the last event, use it with ``contextlib.aclosing``, so that the request is closed at once.
    """
    able = async_performer_of(plan, performer)
    check_given(journal=journal, inbox=inbox)
    return _stream(start(plan), able, journal, inbox)


def astream_on(
    state: State,
    performer: AsyncPerformer,
    *,
    say: Said | UserSpoke | None = None,
    journal: Journal | None = None,
    inbox: Incoming | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Continue a run like :func:`ago_on`, or with ``say`` like :func:`aspeak`, and yield what happens.

    The async version of :func:`~toolreel._driver.sync.stream_on`, with the same parameters.
    """
    withhold(journal, secrets_of(performer))
    begun = Step(state, pending(state), ()) if say is None else step_with_message(state, say, journal)
    check_given(journal=journal, inbox=inbox)
    return _stream(begun, performer, journal, inbox)


async def _run(
    at: Step,
    performer: AsyncPerformer,
    journal: Journal | None,
    observe: Observer | None,
    inbox: Incoming | None,
) -> Run:
    check_given(journal=journal, observe=observe, inbox=inbox)
    laps = LapTimes(performer)
    notes, reached = [*at.notes], at
    tell(observe, at.notes)
    with watched(at, performer) as watches:
        steps = _steps(at, performer, watches, journal, inbox, laps, streams=False)
        async for effect, answer, reached in steps:
            notes += reached.notes
            tell(observe, reached.notes)
            if watches is not None and not isinstance(answer, Delta):
                watches.stepped(effect, answer, reached)
    server = server_of(performer, reached.state.endpoint_name)
    return Run(reached.state, tuple(notes), timing=laps.timing, server=server)


async def _stream(
    at: Step, performer: AsyncPerformer, journal: Journal | None, inbox: Incoming | None
) -> AsyncGenerator[StreamEvent, None]:
    from toolreel._driver.shown_run import ShownRun  # most runs are not shown

    laps = LapTimes(performer)
    shown = ShownRun(at)
    with watched(at, performer) as watches:
        try:
            for event in shown.begin():
                yield event
            begun = _steps(at, performer, watches, journal, inbox, laps, streams=True)
            async with aclosing(begun) as steps:
                async for effect, answer, after in steps:
                    if watches is not None and not isinstance(answer, Delta):
                        watches.stepped(effect, answer, after)
                    for event in shown.show(effect, answer, after):
                        yield event
        except BaseException as stopped:
            shown.cancel(journal, stopped, laps.rest())
            raise
    yield shown.end(laps.timing, performer)


async def _steps(
    at: Step,
    performer: AsyncPerformer,
    watches: Watches | None,
    journal: Journal | None,
    inbox: Incoming | None,
    laps: LapTimes,
    *,
    streams: bool,
) -> AsyncGenerator[tuple[Wanted | None, Event | Delta, Step], None]:
    """The loop: each event with the effect that it answers and the step that it leads to.

    :param laps: gets the times of each effect
    :param streams: whether the pieces of a reply are wanted before its event
    """
    scopes = EffectScopes(at.state, watches)
    withhold(journal, secrets_of(performer))
    while wanted := [effect for effect in at.effects if not isinstance(effect, Finish)]:
        scopes.renew(at.state)
        answers: Iterable[tuple[Wanted, Event | None]] = ()
        if streams and is_shown(wanted[0]) and isinstance(performer, AsyncStreamingPerformer):
            began, first, asked = laps.now(), None, wanted[0]
            pulls = apulled(performer.stream(asked), partial(scopes.around, asked))
            async with aclosing(pulls) as pieces:
                async for piece in pieces:
                    if not isinstance(piece, Delta):
                        answers = [(asked, scopes.answered(asked, piece))]
                        laps.stop(asked, began, first)
                        continue
                    if first is None:
                        first = laps.now()
                        scopes.began_to_arrive(asked)
                    yield asked, piece, at
        else:
            answers = await _answers(performer, wanted, scopes, laps)
        for effect, answer in answers:
            for said, after in take_messages_before(effect, at.state, inbox, journal):
                at = after
                yield None, said, at
            if answer is None:  # an approver said "not now"
                return
            lap = laps.take(effect, answer, at.state.tally.turns)
            event = record(journal, effect, answer, lap)
            at = step(at.state, event)
            yield effect, event, at
        for said, after in take_messages_after(at.state, inbox, journal):
            at = after
            yield None, said, at


async def _answers(
    performer: AsyncPerformer, effects: Sequence[Wanted], scopes: EffectScopes, laps: LapTimes
) -> list[tuple[Wanted, Event | None]]:
    """Each effect with the event that answers it, in the order of the effects; several run concurrently.

    :raises MissingExtra: if there are several effects and anyio is not installed
    """

    async def perform(effect: Wanted) -> Event | None:
        began = laps.now()
        with scopes.around(effect):
            answer = await performer.perform(effect)
        event = scopes.answered(effect, answer)
        laps.stop(effect, began)
        return event

    if len(effects) == 1:
        return [(effects[0], await perform(effects[0]))]
    try:
        import anyio
    except ImportError:
        raise MissingExtra.of("http", "anyio") from None
    found: dict[int, Event | None] = {}

    async def find(effect: Wanted) -> None:
        found[effect.ref] = await perform(effect)

    async with anyio.create_task_group() as group:
        for effect in effects:
            group.start_soon(find, effect)
    # In the order of the effects, not of the answers: a journal does not depend on timing.
    for effect in effects:
        if effect.ref not in found:  # a task group takes a child that was cancelled from within for done
            raise RuntimeError(f"{effect!r}: its performer let out the cancellation of a task of its own")
    return [(effect, found[effect.ref]) for effect in effects]
