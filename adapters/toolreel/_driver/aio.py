"""The driver for asyncio and trio: the async version of :mod:`toolreel._driver.sync`.

It imports no async runtime (anyio only for parallel effects): it runs wherever its performer runs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from toolreel._driver.first_checks import performer_of
from toolreel._driver.inbox import Incoming
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
    withhold,
)
from toolreel._driver.progress import Answer, Progress, check_state, step_with_message, watched
from toolreel._driver.run_result import Run
from toolreel._internal import MissingExtra
from toolreel_core._conversation import Said
from toolreel_core._loop import pending, start
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, State, Step, UserSpoke
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
    able = performer_of(plan, performer, "arun")
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
    able = performer_of(plan, performer, "arun")
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
    with watched(at, performer) as watches:
        progress = Progress(at, performer, watches, journal, inbox, observe)
        async for _ in _events(progress, performer, streams=False):
            pass
    return progress.run


async def _stream(
    at: Step, performer: AsyncPerformer, journal: Journal | None, inbox: Incoming | None
) -> AsyncGenerator[StreamEvent, None]:
    from toolreel._driver.shown_run import STOPPED, ShownRun  # most runs are not shown
    from toolreel._driver.stream_events import RunEnded

    with watched(at, performer) as watches:
        progress = Progress(at, performer, watches, journal, inbox)
        shown = ShownRun(progress)
        try:
            for event in shown.begin():
                yield event
            async with aclosing(_events(progress, performer, streams=True)) as events:
                async for effect, answer in events:
                    for event in shown.show(effect, answer):
                        yield event
        except BaseException as stopped:
            progress.cancel(stopped, STOPPED)
            raise
    yield RunEnded(progress.run)


async def _events(
    progress: Progress, performer: AsyncPerformer, *, streams: bool
) -> AsyncGenerator[tuple[Wanted | None, Event | Delta], None]:
    """The loop: each event that the run takes, with the effect that it answers.

    :param streams: whether the pieces of a reply are wanted before its event
    """
    while wanted := progress.wanted():
        asked = wanted[0]
        answers: Iterable[Answer] = ()
        if streams and is_shown(asked) and isinstance(performer, AsyncStreamingPerformer):
            async with aclosing(apulled(performer.stream(asked), progress.begin(asked))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Delta):
                        progress.began_to_arrive(asked)
                        yield asked, piece
                    else:
                        answers = [(asked, progress.end(asked, piece))]
        else:
            answers = await _answers(progress, performer, wanted)
        for taken in progress.take(answers):
            yield taken


async def _answers(progress: Progress, performer: AsyncPerformer, effects: Sequence[Wanted]) -> list[Answer]:
    """Each effect with the event that answers it, in the order of the effects; several run concurrently.

    :raises MissingExtra: if there are several effects and anyio is not installed
    """
    found: dict[int, Event | None] = {}

    async def perform(effect: Wanted) -> None:
        with progress.begin(effect)():
            answer = await performer.perform(effect)
        found[effect.ref] = progress.end(effect, answer)

    if len(effects) == 1:
        await perform(effects[0])
    else:
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        async with anyio.create_task_group() as group:
            for effect in effects:
                group.start_soon(perform, effect)
    # In the order of the effects, not of the answers: a journal does not depend on timing.
    for effect in effects:
        if effect.ref not in found:  # a task group takes a child that was cancelled from within for done
            raise RuntimeError(f"{effect!r}: its performer let out the cancellation of a task of its own")
    return [(effect, found[effect.ref]) for effect in effects]
