"""The sync driver: the loop that calls :func:`toolreel.step`. Change :mod:`toolreel._driver.aio` likewise."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from toolreel._driver.first_checks import performer_of
from toolreel._driver.inbox import Incoming
from toolreel._driver.ports import (
    Endpoint,
    Journal,
    Observer,
    Performer,
    StreamingPerformer,
    Wanted,
    check_given,
    is_shown,
    pulled,
    secrets_of,
    withhold,
)
from toolreel._driver.progress import Answer, Progress, check_state, step_with_message, watched
from toolreel._driver.run_result import Run
from toolreel_core._conversation import Said
from toolreel_core._loop import pending, start
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, State, Step, UserSpoke
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
    :param performer: performs each effect, for example :class:`~toolreel._driver.performer.Ports`; an
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
    able = performer_of(plan, performer, "run")
    return _run(start(plan), able, journal, observe, inbox)


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
    check_state(state)
    return _run(Step(state, pending(state), ()), performer, journal, observe, inbox)


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
    withhold(journal, secrets_of(performer))
    return _run(step_with_message(run, content, journal), performer, journal, observe, inbox)


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
    able = performer_of(plan, performer, "run")
    check_given(journal=journal, inbox=inbox)
    return _stream(start(plan), able, journal, inbox)


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
    withhold(journal, secrets_of(performer))
    begun = Step(state, pending(state), ()) if say is None else step_with_message(state, say, journal)
    check_given(journal=journal, inbox=inbox)
    return _stream(begun, performer, journal, inbox)


def _run(
    at: Step,
    performer: Performer,
    journal: Journal | None,
    observe: Observer | None,
    inbox: Incoming | None,
) -> Run:
    check_given(journal=journal, observe=observe, inbox=inbox)
    with watched(at, performer) as watches:
        progress = Progress(at, performer, watches, journal, inbox, observe)
        for _ in _events(progress, performer, streams=False):
            pass
    return progress.run


def _stream(
    at: Step, performer: Performer, journal: Journal | None, inbox: Incoming | None
) -> Generator[StreamEvent, None, None]:
    from toolreel._driver.shown_run import STOPPED, ShownRun  # most runs are not shown
    from toolreel._driver.stream_events import RunEnded

    with watched(at, performer) as watches:
        progress = Progress(at, performer, watches, journal, inbox)
        shown = ShownRun(progress)
        try:
            for event in shown.begin():
                yield event
            with closing(_events(progress, performer, streams=True)) as events:
                for effect, answer in events:
                    for event in shown.show(effect, answer):
                        yield event
        except BaseException as stopped:
            progress.cancel(stopped, STOPPED)
            raise
    yield RunEnded(progress.run)


def _events(
    progress: Progress, performer: Performer, *, streams: bool
) -> Generator[tuple[Wanted | None, Event | Delta], None, None]:
    """The loop: each event that the run takes, with the effect that it answers.

    :param streams: whether the pieces of a reply are wanted before its event
    """
    while wanted := progress.wanted():
        asked = wanted[0]
        answers: Iterable[Answer] = ()
        if streams and is_shown(asked) and isinstance(performer, StreamingPerformer):
            with closing(pulled(performer.stream(asked), progress.begin(asked))) as pieces:
                for piece in pieces:
                    if isinstance(piece, Delta):
                        progress.began_to_arrive(asked)
                        yield asked, piece
                    else:
                        answers = [(asked, progress.end(asked, piece))]
        else:
            answers = _answers(progress, performer, wanted)
        yield from progress.take(answers)


def _answers(progress: Progress, performer: Performer, effects: Sequence[Wanted]) -> Iterator[Answer]:
    """Each effect with the event that answers it; several effects run concurrently, in threads.

    The results come in the order of the effects, not in the order in which they finish, so that a journal is
    reproducible.
    """

    def perform(effect: Wanted) -> Event | None:
        with progress.begin(effect)():
            answer = performer.perform(effect)
        return progress.end(effect, answer)

    if len(effects) == 1:  # in the calling thread: a pool would cost more than most effects
        yield effects[0], perform(effects[0])
        return
    from concurrent.futures import ThreadPoolExecutor  # imported late: most runs have no parallel calls

    with ThreadPoolExecutor(len(effects), thread_name_prefix="toolreel") as pool:
        yield from zip(effects, pool.map(perform, effects), strict=True)
