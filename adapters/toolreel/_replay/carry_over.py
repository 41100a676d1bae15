"""Carrying recorded answers over to another run, as far as it asks for what the record answers.

A request is answered by the next recorded reply, whatever stands in it; a tool call by the recorded
result of the same call, name and arguments; a question for approval likewise; a wait by a wait. The
events come in their recorded order, since each of them was given in the light of those before it.
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

__all__ = ["Stop", "carry", "ending"]


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a record does not carry a run any further."""

    n: int
    """Number of the recorded event that answers nothing that the run wants; one more than there are where
    the record is used up."""
    why: str


def carry(run: Underway, events: Iterable[Traced]) -> Stop | None:
    """Answer a run from recorded events, until one answers nothing that the run wants, or the run has ended.

    The events keep all that they say; only their ``ref`` is that of the effect they answer now.
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
    """Where a record of so many events is used up, while the run still wants something."""
    if isinstance(run.state.phase, Settled):
        return None
    return Stop(events + 1, f"the record has no event {events + 1}; {_now(run)}")


def _has_ended_early(run: Underway, traced: Traced) -> bool:
    """Whether a run is over that was not when the event came; late answers are recorded after the end."""
    return isinstance(run.state.phase, Settled) and not isinstance(traced.before.phase, Settled)


def _answers(traced: Traced) -> str:
    return f"answers {shown(traced.effect)}" if traced.effect else "has an answer that came after its end"


def _now(run: Underway) -> str:
    wants = " and ".join(shown(effect) for effect in run.wanted.values())
    return f"the run is in phase {type(run.state.phase).__name__} and wants {wants or 'nothing'}"


def _same(then: Wanted | None, wanted: Iterable[Wanted]) -> Wanted | None:
    """The effect that asks for the same; of several, the one with the same ``ref``."""
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
