"""The drivers: the loop that calls :func:`toolreel.step`, for blocking programs and for asyncio and trio.

The loop is written once, as coroutines; those of a sync run never suspend (see ``immediate``).
It imports no async runtime (anyio only for parallel effects): an async run runs wherever its performer runs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import aclosing
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING

from toolreel._driver.first_checks import performer_for_plan
from toolreel._driver.immediate import (
    await_if_awaitable,
    generate_items_in_scopes,
    immediately,
    items_without_suspending,
)
from toolreel._driver.inbox import Incoming
from toolreel._driver.ports import (
    AsyncEndpoint,
    AsyncPerformer,
    Endpoint,
    Journal,
    Observer,
    Performer,
    Wanted,
    is_turn_request,
)
from toolreel._driver.progress import Answer, Progress, progress_of_state
from toolreel._driver.run_result import Run
from toolreel._internal import MissingExtra
from toolreel_core._conversation import Said
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, State, UserSpoke
from toolreel_core._replies import Delta

if TYPE_CHECKING:
    from toolreel._driver.stream_events import StreamEvent


def run(
    plan: Plan,
    performer: Performer | Endpoint,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Run a plan until it ends, or until it pauses for an approval.

    A provider that fails, a model that misbehaves and an exhausted budget do not raise: the result's
    ``outcome`` says how the run ended.

    :param plan: model, messages, tools, options and limits of the run
    :param performer: performs each effect, for example :class:`~toolreel._driver.ports.Ports`; an
        endpoint alone will do for a plan without tools
    :param journal: records each event before the run continues
    :param observe: called with each note (a decision of the run) as soon as it is made; if it raises, you get
        a ``RuntimeWarning`` and the run continues
    :param inbox: what the user says meanwhile (:class:`~toolreel._driver.inbox.Inbox`); the next request
        sends it, after the results of tools that are running
    :returns: the final state and all notes; if the run has paused, ``outcome`` is ``Resting``, and ``go_on``
        continues it
    :raises ConfigError: before the first request, if the performer cannot run the plan's tools
    :raises toolreel.ReplayMismatch: if the performer replays a recording that does not match this run
    """
    able = performer_for_plan(plan, performer, "run")
    return immediately(_run_loop_to_end(Progress(start(plan), able, journal, inbox, observe)))


async def arun(
    plan: Plan,
    performer: AsyncPerformer | AsyncEndpoint,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Run a plan until it ends, or until it pauses for an approval.

    The async version of :func:`run`, with the same parameters; ``ago_on`` continues a
    run that has paused.
    """
    able = performer_for_plan(plan, performer, "arun")
    return await _run_loop_to_end(Progress(start(plan), able, journal, inbox, observe), in_tasks=True)


def go_on(
    state: State,
    performer: Performer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Continue a run that paused or was stored; effects that are still pending are performed (again).

    The other parameters are those of :func:`run`.

    :param state: the last state of the run, from :class:`~toolreel._driver.run_result.Run` or
        ``toolreel_core.load_state``
    :returns: the final state and the new notes, as :func:`run` returns them
    """
    return immediately(
        _run_loop_to_end(progress_of_state("go_on", state, None, performer, journal, inbox, observe))
    )


async def ago_on(
    state: State,
    performer: AsyncPerformer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Continue a run that paused or was stored; effects that are still pending are performed (again).

    The async version of :func:`go_on`, with the same parameters.
    """
    return await _run_loop_to_end(
        progress_of_state("ago_on", state, None, performer, journal, inbox, observe), in_tasks=True
    )


def speak(
    run: Run | State,
    content: Said | UserSpoke,
    performer: Performer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Say something to a run: after its end, this begins the next exchange of the same conversation.

    To a run that has paused, the message is kept, its pending effects are performed (again), and the next
    request sends the message. The limits of the plan apply to each exchange separately; those that begin with
    ``max_conversation_`` hold for all together. The other parameters are those of :func:`run`.

    :param run: the run, or its last state, for example from ``toolreel_core.load_state``
    :param content: what the user says: a text, or texts, images, audio and files in a list
    :param journal: the journal of the conversation so far, still open or reopened; records the new events
    :returns: the final state and the new notes, as :func:`run` returns them
    :raises ConfigError: if the message is empty, or has a part that the provider is known not to take
    """
    return immediately(
        _run_loop_to_end(progress_of_state("speak", run, content, performer, journal, inbox, observe))
    )


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

    The async version of :func:`speak`, with the same parameters and errors.
    """
    return await _run_loop_to_end(
        progress_of_state("aspeak", run, content, performer, journal, inbox, observe), in_tasks=True
    )


def stream(
    plan: Plan,
    performer: Performer | Endpoint,
    *,
    journal: Journal | None = None,
    inbox: Incoming | None = None,
) -> Generator[StreamEvent, None, None]:
    """Run a plan like :func:`run`, and yield what there is to show, as it happens.

    Pieces of a reply arrive one by one where the plan asks for that: ``LoopConfig(stream="always")``. Nothing
    is read from the server while you use an event. Closing the generator before its end closes the request
    and records a ``CancelRequested``.

    The parameters are those of :func:`run`. Pieces come from endpoints that have a method ``stream``; of
    others, the reply comes as a whole.

    :returns: a generator of :data:`StreamEvent`; the last one has the ``Run``
    :raises toolreel.ReplayMismatch: if the performer replays a recording that does not match this run
    """
    able = performer_for_plan(plan, performer, "stream")
    return items_without_suspending(_stream_run(Progress(start(plan), able, journal, inbox)))


def astream(
    plan: Plan,
    performer: AsyncPerformer | AsyncEndpoint,
    *,
    journal: Journal | None = None,
    inbox: Incoming | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Run a plan like :func:`arun`, and yield what there is to show, as it happens.

    The async version of :func:`stream`, with the same parameters. If you may stop
    before the last event, use it with ``contextlib.aclosing``, so that the request is closed at once.
    """
    able = performer_for_plan(plan, performer, "astream")
    return _stream_run(Progress(start(plan), able, journal, inbox), in_tasks=True)


def stream_on(
    state: State,
    performer: Performer,
    *,
    say: Said | UserSpoke | None = None,
    journal: Journal | None = None,
    inbox: Incoming | None = None,
) -> Generator[StreamEvent, None, None]:
    """Continue a run like :func:`go_on`, or with ``say`` like :func:`speak`, and yield what happens.

    :param say: what the user says
    :returns: a generator as that of :func:`stream`
    """
    return items_without_suspending(
        _stream_run(progress_of_state("stream_on", state, say, performer, journal, inbox))
    )


def astream_on(
    state: State,
    performer: AsyncPerformer,
    *,
    say: Said | UserSpoke | None = None,
    journal: Journal | None = None,
    inbox: Incoming | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Continue a run like :func:`ago_on`, or with ``say`` like :func:`aspeak`, and yield what happens.

    The async version of :func:`stream_on`, with the same parameters.
    """
    return _stream_run(progress_of_state("astream_on", state, say, performer, journal, inbox), in_tasks=True)


async def _run_loop_to_end(progress: Progress, *, in_tasks: bool = False) -> Run:
    with progress:
        async for _ in _run_loop(progress, streams=False, in_tasks=in_tasks):
            pass
    return progress.run


async def _stream_run(progress: Progress, *, in_tasks: bool = False) -> AsyncGenerator[StreamEvent, None]:
    from toolreel._driver.stream_events import STREAM_CLOSED, RunEnded, ShownRun  # most runs are not shown

    with progress:
        shown = ShownRun(progress)
        try:
            for event in shown.events_of_step():
                yield event
            async with aclosing(_run_loop(progress, streams=True, in_tasks=in_tasks)) as events:
                async for effect, answer in events:
                    for event in shown.events_of_answer(effect, answer):
                        yield event
        except BaseException as stopped:
            progress.cancel(stopped, STREAM_CLOSED)
            raise
    # After the scope: closing the stream at its last event must not cancel a run that rests.
    yield RunEnded(progress.run)


async def _run_loop(
    progress: Progress, *, streams: bool, in_tasks: bool
) -> AsyncGenerator[tuple[Wanted | None, Event | Delta], None]:
    """The loop: each event that the run takes, with the effect that it answers.

    :param streams: whether the pieces of a reply are wanted before its event
    :param in_tasks: whether several effects run concurrently in tasks; else in threads
    """
    performer = progress.performer

    async def perform(effect: Wanted) -> Answer:
        progress.begin_effect(effect)
        with progress.scope_of_effect(effect):
            answer: Event | None = await await_if_awaitable(performer.perform(effect))
        return effect, progress.end_effect(effect, answer)

    while wanted := progress.next_effects():
        asked = wanted[0]
        answers: Iterable[Answer] = ()
        if streams and is_turn_request(asked) and hasattr(performer, "stream"):
            progress.begin_effect(asked)
            pulling = generate_items_in_scopes(
                performer.stream(asked), partial(progress.scope_of_effect, asked)
            )
            async with aclosing(pulling) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Delta):
                        progress.mark_first_piece(asked)
                        yield asked, piece
                    else:
                        answers = [(asked, progress.end_effect(asked, piece))]
        elif len(wanted) == 1:  # in the calling thread: a pool would cost more than most effects
            answers = [await perform(asked)]
        else:
            answers = (
                await _perform_in_tasks(perform, wanted) if in_tasks else _perform_in_threads(perform, wanted)
            )
            # A host may have taken each answer as it came; a replay takes them as they were recorded.
            answers = getattr(performer, "in_recorded_order", iter)(answers)
        for taken in progress.take_answers(answers):
            yield taken


# Several effects at once. The answers come in the order of the effects, not in that in which they finish, so
# that a journal does not depend on timing.


def _perform_in_threads(
    perform: Callable[[Wanted], Awaitable[Answer]], effects: Sequence[Wanted]
) -> Iterator[Answer]:
    from concurrent.futures import ThreadPoolExecutor  # imported late: most runs have no parallel calls

    with ThreadPoolExecutor(len(effects), thread_name_prefix="toolreel") as pool:
        # With the caller's context variables: the time limit of an outer run is one.
        contexts = [copy_context() for _ in effects]
        yield from pool.map(lambda own, effect: own.run(immediately, perform(effect)), contexts, effects)


async def _perform_in_tasks(
    perform: Callable[[Wanted], Awaitable[Answer]], effects: Sequence[Wanted]
) -> list[Answer]:
    try:
        import anyio
    except ImportError:
        raise MissingExtra.of("http", "anyio") from None
    answers: dict[int, Answer] = {}

    async def store(effect: Wanted) -> None:
        answers[effect.ref] = await perform(effect)

    async with anyio.create_task_group() as group:
        for effect in effects:
            group.start_soon(store, effect)
    for effect in effects:
        if effect.ref not in answers:  # a task group takes a child that was cancelled from within for done
            raise RuntimeError(f"{effect!r}: its performer let out the cancellation of a task of its own")
    return [answers[effect.ref] for effect in effects]
