"""Answers another run from recorded events, as far as they fit.

The next recorded reply answers a request, whatever its content. A recorded tool result or approval answers
only a call with the same name and arguments; a wait answers a wait. The recorded order is kept, since each
event depends on those before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from toolreel._driver.ports import Wanted
from toolreel._replay.replayer import shown
from toolreel._replay.run_in_progress import Underway
from toolreel._replay.trace import Traced
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait
from toolreel_core._protocol.events import (
    ApprovalGiven,
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    ToolReturned,
    WaitElapsed,
)
from toolreel_core._protocol.state import Settled


@dataclass(frozen=True, slots=True)
class Stop:
    """The place where a record no longer answers a run."""

    n: int
    """Number of the recorded event that answers no pending effect; one more than the number of events if the
    record has ended."""
    why: str


def carry(run: Underway, events: Iterable[Traced]) -> Stop | None:
    """Answer a run from recorded events, until one answers no pending effect, or the run has ended.

    The events stay the same except for ``ref``, which names the effect that they answer now.
    """
    for traced in events:
        if _has_ended_early(run, traced):
            return None
        over, event = isinstance(run.state.phase, Settled), traced.record.event
        if traced.effect is None and (over or isinstance(event, CancelRequested)):
            run.take(None, event)
            continue
        effect = _same(traced.effect, run.wanted.values())
        if effect is None:
            return None if over else Stop(traced.record.n, f"the record {_answers(traced)}; {_now(run)}")
        run.take(effect, _answering(event, effect.ref))
    return None


def ending(run: Underway, events: int) -> Stop | None:
    """The stop after the last event of a record; ``None`` if the run has ended."""
    if isinstance(run.state.phase, Settled):
        return None
    return Stop(events + 1, f"the record has no event {events + 1}; {_now(run)}")


def _has_ended_early(run: Underway, traced: Traced) -> bool:
    """Whether this run has ended earlier than the recorded one; late answers come after both ends."""
    return isinstance(run.state.phase, Settled) and not isinstance(traced.before.phase, Settled)


def _answers(traced: Traced) -> str:
    return f"answers {shown(traced.effect)}" if traced.effect else "has an answer that came after its end"


def _now(run: Underway) -> str:
    wants = " and ".join(shown(effect) for effect in run.wanted.values())
    return f"the run is in phase {type(run.state.phase).__name__} and wants {wants or 'nothing'}"


def _same(then: Wanted | None, wanted: Iterable[Wanted]) -> Wanted | None:
    """The pending effect that is equivalent to the recorded one, preferably the one with its ``ref``."""
    fitting = [effect for effect in wanted if _asks_for_the_same(effect, then)]
    same_ref = (effect for effect in fitting if then and effect.ref == then.ref)
    return next(same_ref, fitting[0] if fitting else None)


def _asks_for_the_same(now: Wanted, then: Wanted | None) -> bool:
    match now:
        case SendRequest():
            return isinstance(then, SendRequest)
        case RunTool():
            return isinstance(then, RunTool) and (now.name, now.arguments) == (then.name, then.arguments)
        case AskApproval():
            return isinstance(then, AskApproval) and (now.name, now.arguments) == (then.name, then.arguments)
        case Wait():
            return isinstance(then, Wait)
        case _:
            assert_never(now)


def _answering(event: Event, ref: int) -> Event:
    match event:
        case ReplyReceived() | RequestFailed() | ToolReturned() | ApprovalGiven() | WaitElapsed():
            return replace(event, ref=ref)
        case RunStarted() | CancelRequested():
            return event
        case _:
            assert_never(event)
