"""The sync driver: the loop that calls :func:`toolreel.step`. Change :mod:`toolreel._driver.aio` likewise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolreel._driver.first_checks import performer_of
from toolreel._driver.ports import Endpoint, Journal, Observer, Performer, Wanted, secrets_of, tell, withhold
from toolreel._driver.run_result import Run
from toolreel._driver.stopwatch import Stopwatch
from toolreel_core._loop.reducer import pending, start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Finish
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.state import State, Step


def run(
    plan: Plan,
    performer: Performer | Endpoint,
    *,
    journal: Journal | None = None,
    observe: Observer | None = None,
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
    :returns: the final state and all notes; if the run has paused, ``outcome`` is ``Resting``, and ``go_on``
        continues it
    :raises ConfigError: before the first request, if the performer cannot run the plan's tools
    :raises toolreel.ReplayMismatch: if the performer replays a recording that does not match this run
    """
    return _run(start(plan), performer_of(plan, performer), journal, observe)


def go_on(
    state: State, performer: Performer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Continue a run that paused or was stored; effects that are still pending are performed (again).

    :param state: the last state of the run, from :class:`~toolreel._driver.run_result.Run` or
        ``toolreel_core.load``
    :param performer: performs the pending effects and all that follow
    :param journal: records the new events
    :param observe: called with each new note
    :returns: the final state and the new notes, as :func:`run` returns them
    """
    return _run(Step(state, pending(state), ()), performer, journal, observe)


def _run(at: Step, performer: Performer, journal: Journal | None, observe: Observer | None) -> Run:
    notes = [*at.notes]
    timed = Stopwatch.where_wanted(performer, at.state)
    withhold(journal, secrets_of(performer))
    tell(observe, at.notes)
    while wanted := [effect for effect in at.effects if not isinstance(effect, Finish)]:
        for effect, event in _answers(timed, wanted):
            if event is None:  # an approver said "not now"
                return Run(at.state, tuple(notes))
            recorded = journal.record(effect, event) if journal is not None else None
            at = step(at.state, recorded or event)
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
