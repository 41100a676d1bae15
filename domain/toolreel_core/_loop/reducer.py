"""The reducer: a run is a fold of :func:`step` over events.

Rules of this file:

- One ``match`` on the event, ending in ``assert_never``; no ``case`` has a guard, since mypy would not notice
  if a guarded case were deleted.
- An answer is taken in the one phase that waits for it. Any other phase refuses it, so a new phase refuses
  all until it is named here.
- Handlers live in the modules next to this one; each names the phases that it leads to. What they decide,
  they say with ``with_notes``; the step that they return has no notes yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never

from toolreel_core._errors import ProtocolError, TransformError
from toolreel_core._loop.finish import settle, with_notes
from toolreel_core._loop.next_endpoint import continue_at_next_endpoint
from toolreel_core._loop.next_request import (
    begin_next_exchange,
    opening_notes,
    request_effect,
    resend_request,
    send_next_request,
    turn_number,
    with_unsent_message,
)
from toolreel_core._loop.on_reply import handle_reply_received, handle_request_failed
from toolreel_core._loop.tool_calls import (
    ask_approval_effect,
    cancel_running,
    finish_mid_turn,
    handle_approval_given,
    handle_tool_returned,
    run_tool_effect,
)
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalGiven,
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    Cancelled,
    CancelRequested,
    Event,
    Idle,
    LateAnswer,
    Phase,
    ReplyReceived,
    RequestAbandoned,
    RequestFailed,
    RunStarted,
    RunTool,
    Settled,
    State,
    Step,
    ToolReturned,
    TransformFailed,
    Unanswered,
    UserMessageKept,
    UserSpoke,
    Wait,
    WaitElapsed,
    Waiting,
)
from toolreel_core._replies import ToolCall

_Answer: TypeAlias = ReplyReceived | RequestFailed | ToolReturned | ApprovalGiven | WaitElapsed
_Phase = TypeVar("_Phase", AwaitingReply, AwaitingTools, AwaitingApproval, Waiting)


def start(plan: Plan) -> Step:
    """Begin a run; its first effect sends the first request. Leads to ``AwaitingReply``.

    It applies ``RunStarted`` itself, so that an embedder only performs effects and steps with the answers.

    >>> from toolreel_core._plan.plan import Plan
    >>> start(Plan.of(model="m", messages="hi")).effects[0].request.body
    '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    """
    try:
        return step(State.idle(plan), RunStarted())
    except TransformError as error:
        # The plan's messages are what the transform cannot take, so the history stays empty.
        silent = State.idle(plan, silent=True)
        return _step_with_notes(silent, settle(silent, TransformFailed(str(error))))


def fold(plan: Plan, events: Iterable[Event]) -> Step:
    """The step that a run has reached after these events; ``RunStarted`` is implied, do not pass it."""
    current = start(plan)
    for event in events:
        current = step(current.state, event)
    return current


def step(state: State, event: Event) -> Step:
    """Apply one event to a run. The same arguments always give the same step.

    :raises ProtocolError: if the phase of the run does not accept the event, or its ``ref`` is not pending
    """
    if isinstance(state.phase, Settled) and not isinstance(event, RunStarted | UserSpoke):
        # After a cancellation, a late answer is not a mistake of the driver. It changes and counts nothing.
        late = () if isinstance(event, CancelRequested) else (LateAnswer(event.ref),)
        return Step(state, (), late)
    try:
        return _step_with_notes(state, _step(state, event))
    except TransformError as error:
        # What the user said is not in the history: a transform that failed may fail on it, too.
        before = with_unsent_message(state, event) if isinstance(event, UserSpoke) else state
        outcome = TransformFailed(str(error))
        # The results of running calls are in the journal; in the history, their calls count as abandoned,
        # since writing them may need the transform that failed.
        try:
            return _step_with_notes(state, finish_mid_turn(before, _unfinished_calls(state.phase), outcome))
        except TransformError:
            # A transform of messages that fails on results, too: the history ends with the calls.
            return _step_with_notes(state, settle(before, outcome))


def _step_with_notes(before: State, after: Step) -> Step:
    """The step with its notes and the next number."""
    state = replace(after.state, noted=(), step_number=before.step_number + 1)
    return Step(state, after.effects, after.state.noted)


def _step(state: State, event: Event) -> Step:  # noqa: PLR0912 - a case for each event
    match event:
        case RunStarted():
            if not isinstance(state.phase, Idle):
                raise _unexpected_event_error(state, event)
            return send_next_request(with_notes(state, *opening_notes(state.present)))
        case CancelRequested():
            # Every phase leads to ``Settled`` with ``cancelled``.
            outcome, phase = Cancelled(event.reason), state.phase
            if isinstance(phase, AwaitingTools):
                return cancel_running(state, phase, outcome)
            if isinstance(phase, AwaitingReply | Waiting):
                request = phase.failed if isinstance(phase, Waiting) else phase
                state = with_notes(state, RequestAbandoned(turn_number(state.tally, request)))
            return finish_mid_turn(state, _unfinished_calls(phase), outcome)
        case UserSpoke():
            # ``Settled`` leads to ``AwaitingReply``, or stays if the conversation's budget is used up. Every
            # other phase but ``Idle`` stays as it is, and the next request sends the message.
            if isinstance(state.phase, Idle):
                raise _unexpected_event_error(state, event)
            spoken = _advance_clock(with_unsent_message(state, event), event.at_ms)
            if isinstance(state.phase, Settled):
                return begin_next_exchange(spoken)
            return Step(with_notes(spoken, UserMessageKept(state.tally.turns)), ())
        case ReplyReceived() | RequestFailed():
            state, phase = _require_awaiting_phase(AwaitingReply, state, event)
            if isinstance(event, ReplyReceived):
                after = handle_reply_received(state, phase, event)
            else:
                after = handle_request_failed(state, phase, event)
            return continue_at_next_endpoint(state, after) if state.plan.fallbacks else after
        case ToolReturned():
            return handle_tool_returned(*_require_awaiting_phase(AwaitingTools, state, event), event)
        case ApprovalGiven():
            return handle_approval_given(*_require_awaiting_phase(AwaitingApproval, state, event), event)
        case WaitElapsed():
            return resend_request(*_require_awaiting_phase(Waiting, state, event))
        case _:
            assert_never(event)


def _require_awaiting_phase(kind: type[_Phase], state: State, event: _Answer) -> tuple[State, _Phase]:
    """The state at the time of an answer, and its phase; a driver must not answer where none is awaited."""
    phase = state.phase
    if not isinstance(phase, kind):
        raise _unexpected_event_error(state, event)
    if isinstance(phase, AwaitingTools):
        # A second answer for the same call is a mistake, too, so answered refs do not count.
        refs = [flight.ref for flight in phase.running if flight.result is None]
    else:
        refs = [phase.ref]
    if event.ref not in refs:
        name, expected = type(phase).__name__, " or ".join(map(str, refs))
        raise ProtocolError(
            f"{type(event).__name__} answers ref {event.ref}, but {name} waits for ref {expected}"
        )
    return _advance_clock(state, event.at_ms), phase


def _unexpected_event_error(state: State, event: Event) -> ProtocolError:
    phase, name = type(state.phase).__name__, type(event).__name__
    return ProtocolError(f"a run in phase {phase} cannot take {name}; perform its effects, answer each once")


def _unfinished_calls(phase: Phase) -> tuple[ToolCall, ...]:
    if isinstance(phase, AwaitingTools):
        return (*(flight.call for flight in phase.running), *phase.waiting)
    return (phase.call, *phase.waiting) if isinstance(phase, AwaitingApproval) else ()


def _advance_clock(state: State, at_ms: int | None) -> State:
    if at_ms is None:
        return state
    # max(): parallel tools may report their times out of order, and time must not run backwards.
    return replace(state, tally=replace(state.tally, at_ms=max(at_ms, state.tally.at_ms)))


def pending(state: State) -> tuple[Unanswered, ...]:
    """The effects that have not been answered yet; none once the run has an ``outcome``.

    >>> from toolreel_core._loop.reducer import start
    >>> from toolreel_core._plan.plan import Plan
    >>> at = start(Plan.of(model="m", messages="hi"))
    >>> pending(at.state) == at.effects
    True
    """
    phase = state.phase
    match phase:
        case AwaitingReply():
            return (request_effect(state, phase),)
        case Waiting():
            return (Wait(phase.ref, phase.ms),)
        case AwaitingTools():
            open_calls = [flight for flight in phase.running if flight.result is None]
            return tuple(run_tool_effect(state, flight.ref, flight.call) for flight in open_calls)
        case AwaitingApproval():
            return (ask_approval_effect(state, phase.ref, phase.call),)
        case Idle() | Settled():
            return ()
        case _:
            assert_never(phase)


def uncertain(state: State) -> tuple[RunTool, ...]:
    """The running calls that are not safe to repeat, if the run was interrupted while they ran.

    Resuming runs every pending call again, with the same key. That is harmless for read-only and idempotent
    tools; the calls returned here belong to other tools and may already have had effects, so you may want
    to confirm before resuming.
    """
    tools = state.present.tools.by_name
    runs = [effect for effect in pending(state) if isinstance(effect, RunTool)]
    return tuple(run for run in runs if not (tools[run.name].read_only or tools[run.name].idempotent))
