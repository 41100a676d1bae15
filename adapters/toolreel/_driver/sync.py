"""The driver: the only loop that calls :func:`toolreel.step`. Its twin is :mod:`toolreel._driver.aio`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolreel._driver.observers import tell
from toolreel._driver.ports import Journal, Observer, Performer, Wanted
from toolreel._driver.run import Run
from toolreel._driver.timing import Stopwatch
from toolreel_core._loop.reducer import start, step
from toolreel_core._loop.resume import pending
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Finish
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.state import State, Step

__all__ = ["go_on", "run"]


def run(
    plan: Plan, performer: Performer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Run a plan to its end, or to where it has to rest.

    :param performer: performs each effect, for example :class:`~toolreel._driver.performer.Ports`
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
        for effect, event in _answers(timed, wanted):
            if event is None:
                return Run(at.state, tuple(notes))
            if journal is not None:
                journal.record(effect, event)
            at = step(at.state, event)
            notes += at.notes
            tell(observe, at.notes)
    return Run(at.state, tuple(notes))


def _answers(performer: Performer, effects: Sequence[Wanted]) -> Iterator[tuple[Wanted, Event | None]]:
    """Each effect with its answer: one in the calling thread, several at the same time.

    The answers come in the order of the effects, whatever order they finish in, so that a journal is the
    same in every run.
    """
    if len(effects) == 1:
        yield effects[0], performer.perform(effects[0])
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(effects) or 1, thread_name_prefix="toolreel") as pool:
        yield from zip(effects, pool.map(performer.perform, effects), strict=True)
