"""The loop: a run is a fold of :func:`step` over events.

Rules of this file: one ``match`` on the event, then one on the phase; no guards, so that no
case can be left out unnoticed; refused phases are named; handlers live next door.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from toolreel.asking import ask
from toolreel.errors import ProtocolError
from toolreel.events import (
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    ToolReturned,
)
from toolreel.notes import LateAnswer
from toolreel.outcome import Cancelled
from toolreel.plan import Plan
from toolreel.results import abandon_calls, tool_returned
from toolreel.settle import settle
from toolreel.state import AwaitingReply, AwaitingTools, Idle, Settled, State, Step
from toolreel.turns import reply_received, request_failed

__all__ = ["fold", "start", "step"]


def start(plan: Plan) -> Step:
    """Begin a run: its first effect asks the model.

    >>> from toolreel.plan import Plan
    >>> start(Plan.of(model="m", messages="hi")).effects[0].request.body
    '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    """
    return step(State.idle(plan), RunStarted())


def fold(plan: Plan, events: Iterable[Event]) -> Step:
    """The step that a run has reached after these events, counted from the first answer."""
    at = start(plan)
    for event in events:
        at = step(at.state, event)
    return at


def step(state: State, event: Event) -> Step:
    """What an event leads to. The same arguments always give the same step.

    :raises ProtocolError: if the phase of the run cannot take the event
    """
    match event:
        case RunStarted():
            return _run_started(state, event)
        case ReplyReceived():
            return _reply_received(state, event)
        case RequestFailed():
            return _request_failed(state, event)
        case ToolReturned():
            return _tool_returned(state, event)
        case CancelRequested():
            return _cancel_requested(state, event)
        case _:
            assert_never(event)


def _run_started(state: State, event: RunStarted) -> Step:
    match state.phase:
        case Idle():
            return ask(state)
        case AwaitingReply() | AwaitingTools() | Settled():
            raise _refusal(state, event)
        case _:
            assert_never(state.phase)


def _reply_received(state: State, event: ReplyReceived) -> Step:
    match state.phase:
        case AwaitingReply() as phase:
            _check_ref(state, event, phase.ref)
            return reply_received(state, event)
        case Settled():
            return Step(state, (), (LateAnswer(event.ref),))
        case Idle() | AwaitingTools():
            raise _refusal(state, event)
        case _:
            assert_never(state.phase)


def _request_failed(state: State, event: RequestFailed) -> Step:
    match state.phase:
        case AwaitingReply() as phase:
            _check_ref(state, event, phase.ref)
            return request_failed(state, event)
        case Settled():
            return Step(state, (), (LateAnswer(event.ref),))
        case Idle() | AwaitingTools():
            raise _refusal(state, event)
        case _:
            assert_never(state.phase)


def _tool_returned(state: State, event: ToolReturned) -> Step:
    match state.phase:
        case AwaitingTools() as phase:
            _check_ref(state, event, phase.ref)
            return tool_returned(state, phase, event)
        case Settled():
            return Step(state, (), (LateAnswer(event.ref),))
        case Idle() | AwaitingReply():
            raise _refusal(state, event)
        case _:
            assert_never(state.phase)


def _cancel_requested(state: State, event: CancelRequested) -> Step:
    match state.phase:
        case Idle() | AwaitingReply():
            return settle(state, Cancelled(event.reason))
        case AwaitingTools() as phase:
            return settle(abandon_calls(state, phase), Cancelled(event.reason))
        case Settled():
            return Step(state, (), ())
        case _:
            assert_never(state.phase)


def _check_ref(state: State, event: ReplyReceived | RequestFailed | ToolReturned, ref: int) -> None:
    if event.ref != ref:
        phase = type(state.phase).__name__
        raise ProtocolError(
            f"{type(event).__name__} answers ref {event.ref}, but {phase} waits for ref {ref}"
        )


def _refusal(state: State, event: Event) -> ProtocolError:
    phase, name = type(state.phase).__name__, type(event).__name__
    return ProtocolError(f"a run in phase {phase} cannot take {name}; perform its effects, answer each once")
