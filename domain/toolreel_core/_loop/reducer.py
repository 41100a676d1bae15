"""The reducer: a run is a fold of :func:`step` over events.

Rules of this file:

- One ``match`` on the event, then one on the phase, each ending in ``assert_never``.
- No ``case`` has a guard: mypy would not notice if a guarded case were deleted.
- Phases that do not accept an event are listed by name, so a new phase is a type error here.
- Handlers live in the modules next to this one; each names the phases that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, assert_never

from toolreel_core._errors import ProtocolError, TransformError
from toolreel_core._jsontext import JsonText
from toolreel_core._loop.finish import settle
from toolreel_core._loop.next_endpoint import or_next_endpoint
from toolreel_core._loop.next_request import (
    keep,
    kept,
    next_exchange,
    opening_notes,
    request_effect,
    resend_request,
    send_next_request,
    turn_of,
)
from toolreel_core._loop.on_reply import reply_received, request_failed
from toolreel_core._loop.tool_calls import (
    approval_given,
    ask_approval,
    cancel_running,
    finish_mid_turn,
    run_tool,
    tool_returned,
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
    InFlight,
    LateAnswer,
    Outcome,
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
    UserSpoke,
    Wait,
    WaitElapsed,
    Waiting,
)
from toolreel_core._replies import ArgumentError

Answer: TypeAlias = ReplyReceived | RequestFailed | ToolReturned | ApprovalGiven | WaitElapsed


def start(plan: Plan) -> Step:
    """Begin a run; its first effect sends the first request. Leads to ``AwaitingReply``.

    It applies ``RunStarted`` itself, so that an embedder only performs effects and steps with the answers.

    >>> from toolreel_core._plan.plan import Plan
    >>> start(Plan.of(model="m", messages="hi")).effects[0].request.body
    '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    """
    try:
        begun = State.idle(plan)
    except TransformError as error:
        # The plan's messages are what the transform cannot take, so the history stays empty.
        silent = State.silent(plan)
        return _with_step_number(silent, settle(silent, TransformFailed(str(error))))
    return step(begun, RunStarted())


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
    try:
        return _with_step_number(state, _step(state, event))
    except TransformError as error:
        # What the user said is not in the history: a transform that failed may fail on it, too.
        before = kept(state, event) if isinstance(event, UserSpoke) else state
        return _with_step_number(state, _give_up(before, TransformFailed(str(error))))


def _with_step_number(before: State, after: Step) -> Step:
    """The step with the next number; an event that came too late changed nothing, and counts nothing."""
    if after.state is before:
        return after
    return Step(replace(after.state, step_number=before.step_number + 1), after.effects, after.notes)


def _try_next_endpoint(before: State, after: Step) -> Step:
    return or_next_endpoint(before, after) if before.plan.fallbacks else after


def _step(state: State, event: Event) -> Step:
    match event:
        case RunStarted():
            return _run_started(state, event)
        case ReplyReceived():
            return _reply_received(_with_event_time(state, event.at_ms), event)
        case RequestFailed():
            return _request_failed(_with_event_time(state, event.at_ms), event)
        case ToolReturned():
            return _tool_returned(_with_event_time(state, event.at_ms), event)
        case ApprovalGiven():
            return _approval_given(_with_event_time(state, event.at_ms), event)
        case WaitElapsed():
            return _wait_elapsed(_with_event_time(state, event.at_ms), event)
        case CancelRequested():
            return _cancel_requested(state, event)
        case UserSpoke():
            return _user_spoke(state, event)
        case _:
            assert_never(event)


def _run_started(state: State, event: RunStarted) -> Step:
    """``Idle`` leads to ``AwaitingReply``."""
    match state.phase:
        case Idle():
            return send_next_request(state, opening_notes(state.present))
        case AwaitingReply() | Waiting() | AwaitingTools() | AwaitingApproval() | Settled():
            raise _unexpected_event(state, event)
        case _:
            assert_never(state.phase)


def _reply_received(state: State, event: ReplyReceived) -> Step:
    """``AwaitingReply`` leads to any phase but ``Idle``; see :mod:`toolreel_core._loop.on_reply`."""
    match state.phase:
        case AwaitingReply() as phase:
            _check_reference(state, event, phase.ref)
            match phase.purpose:
                case "turn":
                    return _try_next_endpoint(state, reply_received(state, phase, event))
                case "summary":
                    from toolreel_core._loop.summary_reply import summary_received  # noqa: PLC0415 - rare

                    return summary_received(state, phase, event)
                case _:
                    assert_never(phase.purpose)
        case Idle() | Waiting() | AwaitingTools() | AwaitingApproval() | Settled():
            return _drop_late_answer(state, event)
        case _:
            assert_never(state.phase)


def _request_failed(state: State, event: RequestFailed) -> Step:
    """``AwaitingReply`` leads to ``Waiting`` (retry), ``AwaitingReply`` (without tools) or ``Settled``.

    Where the error body holds the model's rejected turn, it leads on like a reply.
    """
    match state.phase:
        case AwaitingReply() as phase:
            _check_reference(state, event, phase.ref)
            match phase.purpose:
                case "turn":
                    return _try_next_endpoint(state, request_failed(state, phase, event))
                case "summary":
                    from toolreel_core._loop.summary_reply import summary_failed  # noqa: PLC0415 - rare

                    return summary_failed(state, phase, event)
                case _:
                    assert_never(phase.purpose)
        case Idle() | Waiting() | AwaitingTools() | AwaitingApproval() | Settled():
            return _drop_late_answer(state, event)
        case _:
            assert_never(state.phase)


def _tool_returned(state: State, event: ToolReturned) -> Step:
    """``AwaitingTools`` stays until every running call has its result, then runs the next calls."""
    match state.phase:
        case AwaitingTools() as phase:
            # A second answer for the same call is a mistake of the driver, so answered refs do not count.
            _check_reference(state, event, *[flight.ref for flight in phase.running if flight.result is None])
            return tool_returned(state, phase, event)
        case Idle() | AwaitingReply() | Waiting() | AwaitingApproval() | Settled():
            return _drop_late_answer(state, event)
        case _:
            assert_never(state.phase)


def _approval_given(state: State, event: ApprovalGiven) -> Step:
    """``AwaitingApproval`` leads to ``AwaitingTools``, or, if denied, on to the next call."""
    match state.phase:
        case AwaitingApproval() as phase:
            _check_reference(state, event, phase.ref)
            return approval_given(state, phase, event)
        case Idle() | AwaitingReply() | Waiting() | AwaitingTools() | Settled():
            return _drop_late_answer(state, event)
        case _:
            assert_never(state.phase)


def _wait_elapsed(state: State, event: WaitElapsed) -> Step:
    """``Waiting`` leads to ``AwaitingReply``, or to ``Settled`` if the wait used up the time budget."""
    match state.phase:
        case Waiting() as phase:
            _check_reference(state, event, phase.ref)
            return resend_request(state, phase)
        case Idle() | AwaitingReply() | AwaitingTools() | AwaitingApproval() | Settled():
            return _drop_late_answer(state, event)
        case _:
            assert_never(state.phase)


def _cancel_requested(state: State, event: CancelRequested) -> Step:
    """Every phase leads to ``Settled`` with ``cancelled``; a settled run stays as it is."""
    match state.phase:
        case Idle():
            return settle(state, Cancelled(event.reason))
        case AwaitingReply() as phase:
            return settle(state, Cancelled(event.reason), (RequestAbandoned(turn_of(state, phase)),))
        case Waiting() as phase:
            return settle(state, Cancelled(event.reason), (RequestAbandoned(turn_of(state, phase.failed)),))
        case AwaitingTools() as phase:
            return cancel_running(state, phase, Cancelled(event.reason))
        case AwaitingApproval() as phase:
            return finish_mid_turn(state, (phase.call, *phase.waiting), Cancelled(event.reason))
        case Settled():
            return Step(state, (), ())
        case _:
            assert_never(state.phase)


def _user_spoke(state: State, event: UserSpoke) -> Step:
    """``Settled`` leads to ``AwaitingReply``, or stays if the conversation's budget is used up.

    Every other phase but ``Idle`` stays as it is, and the next request sends the message.
    """
    match state.phase:
        case Settled():
            return next_exchange(_advance_clock(kept(state, event), event.at_ms))
        case AwaitingReply() | Waiting() | AwaitingTools() | AwaitingApproval():
            return keep(_advance_clock(state, event.at_ms), event)
        case Idle():
            raise _unexpected_event(state, event)
        case _:
            assert_never(state.phase)


def _give_up(state: State, outcome: Outcome) -> Step:
    """End a run whose transform failed, from the state before the event. Leads to ``Settled``.

    The results of running calls are in the journal; in the history, their calls count as abandoned, since
    writing them may need the transform that failed.
    """
    try:
        return _abandon_calls(state, outcome)
    except TransformError:
        # A transform of messages that fails on results, too: the history ends with the calls.
        return settle(state, outcome)


def _abandon_calls(state: State, outcome: Outcome) -> Step:
    match state.phase:
        case AwaitingTools() as phase:
            running = tuple([flight.call for flight in phase.running])
            return finish_mid_turn(state, (*running, *phase.waiting), outcome)
        case AwaitingApproval() as phase:
            return finish_mid_turn(state, (phase.call, *phase.waiting), outcome)
        case Idle() | AwaitingReply() | Waiting() | Settled():
            return settle(state, outcome)
        case _:
            assert_never(state.phase)


def _with_event_time(state: State, at_ms: int | None) -> State:
    """The state with the time of an event; a settled state never changes."""
    return state if isinstance(state.phase, Settled) else _advance_clock(state, at_ms)


def _advance_clock(state: State, at_ms: int | None) -> State:
    if at_ms is None:
        return state
    # max(): parallel tools may report their times out of order, and time must not run backwards.
    return replace(state, tally=replace(state.tally, at_ms=max(at_ms, state.tally.at_ms)))


def _drop_late_answer(state: State, event: Answer) -> Step:
    """Drop an answer that arrives after the end: after a cancellation, that is no mistake of the driver."""
    if not isinstance(state.phase, Settled):
        raise _unexpected_event(state, event)
    return Step(state, (), (LateAnswer(event.ref),))


def _check_reference(state: State, event: Answer, *refs: int) -> None:
    if event.ref not in refs:
        phase, expected = type(state.phase).__name__, " or ".join(map(str, refs))
        raise ProtocolError(
            f"{type(event).__name__} answers ref {event.ref}, but {phase} waits for ref {expected}"
        )


def _unexpected_event(state: State, event: Event) -> ProtocolError:
    phase, name = type(state.phase).__name__, type(event).__name__
    return ProtocolError(f"a run in phase {phase} cannot take {name}; perform its effects, answer each once")


def pending(state: State) -> tuple[Unanswered, ...]:
    """The effects that have not been answered yet; none once the run has an ``outcome``.

    >>> from toolreel_core._loop.reducer import start
    >>> from toolreel_core._plan.plan import Plan
    >>> at = start(Plan.of(model="m", messages="hi"))
    >>> pending(at.state) == at.effects
    True
    """
    match state.phase:
        case Idle():
            return ()
        case AwaitingReply() as phase:
            return (request_effect(state, phase),)
        case Waiting() as phase:
            return (Wait(phase.ref, phase.ms),)
        case AwaitingTools() as phase:
            return tuple(_pending_effect(state, flight) for flight in phase.running if flight.result is None)
        case AwaitingApproval() as phase:
            return (ask_approval(state, phase.ref, phase.call, phase.arguments),)
        case Settled():
            return ()
        case _:
            assert_never(state.phase)


def uncertain(state: State) -> tuple[RunTool, ...]:
    """The running calls that are not safe to repeat, if the run was interrupted while they ran.

    Resuming runs every pending call again, with the same key. That is harmless for read-only and idempotent
    tools; the calls returned here belong to other tools and may already have had effects, so you may want
    to confirm before resuming.
    """
    tools = state.present.tools.by_name
    runs = [effect for effect in pending(state) if isinstance(effect, RunTool)]
    return tuple(run for run in runs if not (tools[run.name].read_only or tools[run.name].idempotent))


def _pending_effect(state: State, flight: InFlight) -> RunTool:
    arguments = flight.call.arguments
    match arguments:
        case JsonText():
            return run_tool(state, flight.ref, flight.call, arguments)
        case ArgumentError():
            raise AssertionError("a call whose arguments cannot be read is never in flight")
        case _:
            assert_never(arguments)
