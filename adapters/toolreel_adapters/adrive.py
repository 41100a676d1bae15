"""The driver for asyncio and trio: :mod:`toolreel_adapters.drive`, awaited.

It imports no runtime of its own: whatever runs the coroutine will do, as long as the performer suits it.
"""

from __future__ import annotations

from collections import deque
from typing import assert_never

from toolreel.effects import Finish, RunTool, SendRequest
from toolreel.loop import start, step
from toolreel.plan import Plan
from toolreel_adapters.finished import Run
from toolreel_adapters.observing import tell
from toolreel_adapters.ports import AsyncPerformer, Journal, Observer

__all__ = ["arun"]


async def arun(
    plan: Plan, performer: AsyncPerformer, *, journal: Journal | None = None, observe: Observer | None = None
) -> Run:
    """Run a plan to its end.

    :param performer: performs each effect, for example :class:`~toolreel_adapters.perform.AsyncPorts`
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
                event = await performer.perform(effect)
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
