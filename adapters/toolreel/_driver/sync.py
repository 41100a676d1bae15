"""The sync driver: the loop that calls :func:`toolreel.step`. Change :mod:`toolreel._driver.aio` likewise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolreel._driver.inbox import Incoming, hear, hear_before, message_of, state_of
from toolreel._driver.ports import Journal, Observer, Performer, Wanted, secrets_of, tell, withhold
from toolreel._driver.run_result import Run
from toolreel._driver.stopwatch import Stopwatch, timed_anew
from toolreel_core._loop.reducer import pending, start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Finish
from toolreel_core._protocol.events import Event, UserSpoke
from toolreel_core._protocol.state import State, Step


def run(
    plan: Plan,
    performer: Performer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Run a plan until it ends, or until it pauses for an approval.

    A provider that fails, a model that misbehaves and an exhausted budget do not raise: the result's
    ``outcome`` says how the run ended.

    :param plan: model, messages, tools, options and limits of the run
    :param performer: performs each effect, for example :class:`~toolreel._driver.performer.Ports`
    :param journal: records each event before the run continues
    :param observe: called with each note (a decision of the run) as soon as it is made; if it raises, you get
        a ``RuntimeWarning`` and the run continues
    :param inbox: what the user says meanwhile (:class:`~toolreel._driver.inbox.Inbox`); the next request
        sends it, after the results of tools that are running
    :returns: the final state and all notes; if the run has paused, ``outcome`` raises, and ``go_on``
        continues it
    :raises toolreel.ReplayMismatch: if the performer replays a recording that does not match this run
    """
    return _run(start(plan), performer, journal, observe, inbox)


def go_on(
    state: State,
    performer: Performer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Continue a run that paused or was stored; effects that are still pending are performed (again).

    :param state: the last state of the run, from :class:`~toolreel._driver.run_result.Run` or
        ``toolreel_core.load``
    :param performer: performs the pending effects and all that follow
    :param journal: records the new events
    :param observe: called with each new note
    :param inbox: what the user says meanwhile
    :returns: the final state and the new notes, as :func:`run` returns them
    """
    return _run(Step(state, pending(state), ()), performer, journal, observe, inbox)


def speak(
    run: Run | State,
    content: str | UserSpoke,
    performer: Performer,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
    inbox: Incoming | None = None,
) -> Run:
    """Say something to a run: after its end, this begins the next exchange of the same conversation.

    To a run that has paused, the message is kept, its pending effects are performed (again), and the next
    request sends the message. The limits of the plan hold for each exchange anew; those that begin with
    ``max_conversation_`` hold for all together.

    :param run: the run, or its last state, for example from ``toolreel_core.load_state``
    :param content: what the user says
    :param performer: performs the effects that follow
    :param journal: the journal of the conversation so far, still open or reopened; records the new events
    :param observe: called with each new note
    :param inbox: what the user says meanwhile
    :returns: the final state and the new notes, as :func:`run` returns them
    :raises ConfigError: if the message is empty
    """
    withhold(journal, secrets_of(performer))
    said = hear(state_of(run), (message_of(content),), journal)
    return _run(said, performer, journal, observe, inbox)


def _run(
    at: Step,
    performer: Performer,
    journal: Journal | None,
    observe: Observer | None,
    inbox: Incoming | None,
) -> Run:
    notes = [*at.notes]
    timed = Stopwatch.where_wanted(performer, at.state)
    withhold(journal, secrets_of(performer))
    tell(observe, at.notes)
    while wanted := [effect for effect in at.effects if not isinstance(effect, Finish)]:
        timed = timed_anew(timed, at.state)
        for effect, event in _answers(timed, wanted):
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


def _answers(performer: Performer, effects: Sequence[Wanted]) -> Iterator[tuple[Wanted, Event | None]]:
    """Each effect with the event that answers it; several effects run concurrently, in threads.

    The results come in the order of the effects, not in the order in which they finish, so that a journal is
    reproducible.
    """
    if len(effects) == 1:  # in the calling thread: a pool would cost more than most effects
        yield effects[0], performer.perform(effects[0])
        return
    from concurrent.futures import ThreadPoolExecutor  # imported late: most runs have no parallel calls

    with ThreadPoolExecutor(len(effects) or 1, thread_name_prefix="toolreel") as pool:
        yield from zip(effects, pool.map(performer.perform, effects), strict=True)
