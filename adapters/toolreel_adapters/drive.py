"""The driver: the only loop that calls :func:`toolreel.step`. Its twin is :mod:`toolreel_adapters.adrive`."""

from __future__ import annotations

from collections import deque
from typing import assert_never

from toolreel.effects import Finish, RunTool, SendRequest
from toolreel.loop import start, step
from toolreel.plan import Plan
from toolreel_adapters.finished import Run
from toolreel_adapters.observing import tell
from toolreel_adapters.ports import Journal, Observer, Performer

__all__ = ["run"]


def run(
    plan: Plan, performer: Performer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Run a plan to its end.

    :param performer: performs each effect, for example :class:`~toolreel_adapters.perform.Ports`
    :param journal: keeps every event before the run goes on
    :param observe: is shown every note as it comes
    :raises toolreel.ReplayMismatch: if the performer replays a recording that disagrees
    """
    at = start(plan)
    notes = [*at.notes]
    waiting = deque(at.effects)
    tell(observe, at.notes)
    while waiting:
        effect = waiting.popleft()
        match effect:
            case SendRequest() | RunTool():
                event = performer.perform(effect)
            case Finish():
                break
            case _:
                assert_never(effect)
        if journal is not None:
            journal.record(effect, event)
        at = step(at.state, event)
        notes += at.notes
        waiting.extend(at.effects)
        tell(observe, at.notes)
    return Run(at.state, tuple(notes))
