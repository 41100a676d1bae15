"""The calls of a reply: which of them are admitted, and run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never, cast

from toolreel_core._conversation import Media, ToolMessage, blobs_of, omitted_part_sentence
from toolreel_core._jsontext import JsonText, canonical, chained_digest, is_nested_deeper
from toolreel_core._loop.finish import settle, with_notes, with_tool_spending
from toolreel_core._loop.next_request import (
    is_repeated_side_effect,
    memory_with_done_call,
    memory_with_withheld_tool,
    remembers_calls,
    send_next_request,
)
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalAsked,
    ApprovalGiven,
    AskApproval,
    AwaitingApproval,
    AwaitingTools,
    BudgetSpent,
    CallAbandoned,
    CallEnded,
    CallRejected,
    CallRepeated,
    CallSkipped,
    CallStarted,
    InFlight,
    Memory,
    Note,
    Outcome,
    PartsLeftOut,
    QuirkApplied,
    RepairApplied,
    RepeatedCall,
    RunTool,
    State,
    Step,
    Streak,
    ToolReturned,
)
from toolreel_core._replies import ArgumentError, Intended, ToolCall, coerce_arguments
from toolreel_core._schema import unknown_key_violations, violations
from toolreel_core._settings import LoopConfig, apply_transforms
from toolreel_core._tools import (
    Envelope,
    Fault,
    already_done_envelope,
    arguments_in_envelope,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_truncated_fault,
    call_abandoned,
    call_cancelled,
    call_denied_fault,
    envelope_of,
    envelope_plain_text,
    failed_envelope,
    matches_tool_name,
    output_not_alone,
    parts_too_large,
    schema_violation_fault,
    shortened_name,
    tool_not_allowed_as_text,
    tool_not_allowed_fault,
    tool_not_found_fault,
)

# Admission: the checks between a model and a tool, and the effects that run what passed.
#
# The checks run in this order, and the first failure is returned to the model: the tool exists and is not
# masked; a call in text may run it; the arguments are within the limits; they parsed; they are valid against
# the schema. Cheap checks come first, and the size limit protects the parser and the validator. The admitted
# arguments run byte for byte, under the tool's inner name, with an idempotency key.


def admit_call(call: ToolCall, plan: Plan) -> Intended | Fault:
    """Check one call: what to run its tool with, or the fault that is returned to the model."""
    tool, config = plan.tools.by_name.get(call.name), plan.config
    if is_final_tool_call(call, plan):
        # Only beside other calls: a reply of nothing but final calls is judged before any call is admitted.
        return output_not_alone(call.name)
    if tool is None or not tool.exposed:
        # A tool that is masked or not exposed exists: the model is told that it may not call it.
        offered = plan.callable_tools
        missing = tool_not_allowed_fault if call.name in offered.known else tool_not_found_fault
        return missing(call.name, offered.names)
    if config.text_calls_for == "read_only" and call.from_text and not tool.read_only:
        return tool_not_allowed_as_text(tool.outward)
    limit = config.max_tool_args_bytes if tool.max_args_bytes is None else tool.max_args_bytes
    if (size := len(call.original.encode())) > limit:
        return arguments_too_large(call.name, size, limit)
    if is_nested_deeper(call.original, config.max_argument_depth):
        return arguments_too_deep(call.name, config.max_argument_depth)
    if isinstance(call.arguments, ArgumentError):
        return argument_error_fault(call.name, call.arguments, plan)
    # Coerce first, so that the schema judges what would run.
    intended = coerced_arguments(tool.parameters, (tool.name, tool.outward), call.arguments, config)
    if intended.doubt:
        return arguments_in_envelope(tool.name, intended.doubt)
    schema, arguments = tool.parameters, intended.arguments
    found = violations(schema, arguments) or unknown_key_violations(schema, arguments)
    return schema_violation_fault(tool.name, found) if found else intended


def is_final_tool_call(call: ToolCall, plan: Plan) -> bool:
    return plan.asked_by == "tool" and plan.output is not None and call.name == plan.output.name


def argument_error_fault(name: str, error: ArgumentError, plan: Plan) -> Fault:
    match error.code:
        case "ARGUMENTS_INVALID_JSON":
            return arguments_not_json(name, error.detail)
        case "ARGUMENTS_NOT_OBJECT":
            return arguments_not_object(name, error.detail)
        case "ARGUMENTS_TRUNCATED":
            return arguments_truncated_fault(name, plan.bodies.output_cap)
        case _:
            assert_never(error.code)


def coerced_arguments(
    schema: JsonText, names: tuple[str, ...], arguments: JsonText, config: LoopConfig
) -> Intended:
    """The arguments coerced to a schema, as far as ``argument_repairs`` allows.

    :param names: the names of the tool, which may be in an envelope
    """
    return coerce_arguments(
        schema,
        arguments,
        names=names,
        repair=config.argument_repairs != "strict",
        drop_nulls=config.null_for_optional_is_absent,
        max_depth=config.max_argument_depth,
    )


def run_tool_effect(state: State, ref: int, call: ToolCall) -> RunTool:
    """The effect that runs an admitted call of the current turn.

    Its idempotency key is computed from the plan, the turn and the call's position in it, so a run has the
    same keys when it is replayed, resumed or repeated. For a tool to act again, use a plan with another seed.
    """
    turn, ids = state.tally.turns, [sent.id for sent in state.messages.projection.called]
    # The index in the latest assistant message: models and servers choose ids at random.
    place = str(ids.index(call.id)) if call.id in ids else call.id
    key = chained_digest("call", state.plan.digest, str(turn), place)
    arguments = cast("JsonText", call.arguments)  # admitted, so they could be read
    return RunTool(ref, call.id, state.present.tools.inner_name(call.name), arguments, key, turn)


def ask_approval_effect(state: State, ref: int, call: ToolCall) -> AskApproval:
    name, arguments = state.present.tools.inner_name(call.name), cast("JsonText", call.arguments)
    return AskApproval(ref, call.id, name, arguments)


# Run the calls of a turn, and record the result of each in call order.
#
# A turn's calls are handled from left to right. A rejected call gets its fault as the result; an admitted one
# leads to ``RunTool`` or ``AskApproval``, and the calls after it wait. With ``parallel_tools``, consecutive
# read-only calls run at the same time. When no call is left, the next request is sent.


def run_calls(state: State, calls: tuple[ToolCall, ...]) -> Step:
    """Start the next call that is admitted; rejected calls before it get their fault as the result.

    Leads to ``AwaitingTools`` or ``AwaitingApproval``; to ``AwaitingReply`` when no call is left; to
    ``Settled`` when the budget of tool calls is used up or a call was repeated too often.
    """
    refuses = state.present.config.repeated_effects != "run"
    for index, call in enumerate(calls):
        admission, refused = admit_call(call, state.present), False
        if isinstance(admission, Fault):
            state = with_notes(state, _call_rejected_note(state, call, admission))
            result = failed_envelope(call.name, admission)
        elif refused := refuses and is_repeated_side_effect(state, call, admission.arguments):
            result = already_done_envelope(call.name)
            state = with_notes(state, CallSkipped(state.tally.turns, call.id, shortened_name(call.name)))
        else:
            return _start_calls(state, calls[index:], admission)
        state, repetition = _record_result(state, call, result, refused=refused)
        if repetition:
            return finish_mid_turn(state, calls[index + 1 :], repetition)
    return send_next_request(state)


def _start_calls(state: State, calls: tuple[ToolCall, ...], first: Intended) -> Step:
    """Start the first call, or ask for its approval; see :func:`run_calls`.

    With ``parallel_tools``, the read-only calls right after it start at the same time.

    :param first: its arguments
    """
    plan, turn, most = state.present, state.tally.turns, len(calls)
    if (limit := plan.config.max_tool_calls) is not None:
        used = state.exchange_tally.tool_calls
        if used >= limit:
            return finish_mid_turn(state, calls, BudgetSpent("tool_calls", used, limit))
        most = min(most, limit - used)
    call, tool, ref = calls[0], plan.tools.by_name[calls[0].name], state.next_ref
    doubtful = plan.config.text_calls_for == "approved" and call.from_text and not tool.read_only
    if tool.needs_approval or doubtful:
        asked = replace(call, arguments=first.arguments)
        repairs = [RepairApplied(turn, code) for code in first.codes]
        state = with_notes(state, *repairs, ApprovalAsked(turn, call.id, call.name))
        waiting = AwaitingApproval(ref, asked, first.arguments, calls[1:])
        asking = replace(state, phase=waiting, next_ref=ref + 1)
        return Step(asking, (ask_approval_effect(state, ref, asked),))
    count = 1
    if plan.config.parallel_tools and tool.read_only:
        for beside in calls[1:most]:
            other = plan.tools.by_name.get(beside.name)
            if other is None or not other.read_only or other.needs_approval:
                break
            count += 1
    flights: list[InFlight] = []
    effects: list[RunTool] = []
    notes: list[Note] = []
    admissions = (first, *(admit_call(call, plan) for call in calls[1:count]))
    for call, admission in zip(calls[:count], admissions, strict=True):
        if isinstance(admission, Fault):
            notes.append(_call_rejected_note(state, call, admission))
            flights.append(InFlight(0, call, failed_envelope(call.name, admission)))
        else:
            admitted = call
            if call.arguments != admission.arguments:
                admitted = replace(call, arguments=admission.arguments)
            notes += [RepairApplied(turn, code) for code in admission.codes]
            notes.append(_call_started_note(state, call))
            effects.append(run_tool_effect(state, ref + len(effects), admitted))
            flights.append(InFlight(effects[-1].ref, admitted, since_ms=state.tally.at_ms))
    phase = AwaitingTools(tuple(flights), calls[count:])
    return Step(_with_running_calls(state, phase, *notes), tuple(effects))


def _with_running_calls(state: State, phase: AwaitingTools, *notes: Note) -> State:
    started = len([flight for flight in phase.running if flight.result is None])
    tally, next_ref = state.tally.counted(tool_calls=started), state.next_ref + started
    return replace(state, phase=phase, tally=tally, next_ref=next_ref, noted=(*state.noted, *notes))


def handle_approval_given(state: State, phase: AwaitingApproval, event: ApprovalGiven) -> Step:
    """Run the approved call, or return the denial to the model.

    Approved, it leads to ``AwaitingTools``; denied, on to the next call as in :func:`run_calls`.
    """
    call = phase.call
    if event.approved:
        # The approved arguments run without another check: a second coercion could change them.
        flight = InFlight(state.next_ref, call, since_ms=state.tally.at_ms)
        running = _with_running_calls(
            state, AwaitingTools((flight,), phase.waiting), _call_started_note(state, call)
        )
        return Step(running, (run_tool_effect(state, flight.ref, call),))
    denied = call_denied_fault(call.name, event.reason)
    notes = (_call_rejected_note(state, call, denied),)
    return _record_results(state, [(call, failed_envelope(call.name, denied), ())], phase.waiting, notes)


def handle_tool_returned(state: State, phase: AwaitingTools, event: ToolReturned) -> Step:
    """Keep a result until all running calls have theirs, then record them in call order and go on.

    Stays in ``AwaitingTools`` while calls are running, then leads on as :func:`run_calls` does.
    """
    (returned,) = [flight for flight in phase.running if flight.ref == event.ref]
    state = state if event.spent is None else with_tool_spending(state, event.spent)
    call, config = returned.call, state.present.config
    tool = state.present.tools.by_name[call.name]
    limit = config.max_tool_output_bytes if tool.max_output_bytes is None else tool.max_output_bytes
    untrusted = any(matches_tool_name(pattern, tool.name) for pattern in config.untrusted_tools)
    result = envelope_of(call.name, event.output, limit=limit, untrusted=untrusted)
    parts, lost = event.parts, tuple[Media, ...]()
    if parts:
        provider, most = state.present.provider, config.max_tool_parts_bytes
        if (size := sum(blob.size for blob in blobs_of(parts))) > most:
            result, parts = failed_envelope(call.name, parts_too_large(call.name, size, most)), ()
        lost = tuple([part for part in parts if not provider.takes(part.kind)])
        warnings = [omitted_part_sentence(part, provider) for part in lost]
        result = replace(result, warnings=(*result.warnings, *warnings))
        parts = tuple([part for part in parts if part not in lost])
    elapsed_ms = None if event.at_ms is None else max(0, event.at_ms - returned.since_ms)
    codes, size = tuple([error.code for error in result.errors]), len(result.text().encode())
    ended = CallEnded(state.tally.turns, call.id, call.name, result.ok, codes, size, elapsed_ms)
    notes: tuple[Note, ...] = (ended,)
    if lost:
        notes += (PartsLeftOut(state.tally.turns, call.id, call.name, tuple([part.label for part in lost])),)
    completed = replace(returned, result=result, parts=parts)
    running = tuple([completed if flight is returned else flight for flight in phase.running])
    results = [(flight.call, flight.result, flight.parts) for flight in running if flight.result is not None]
    if len(results) < len(running):
        return Step(with_notes(replace(state, phase=AwaitingTools(running, phase.waiting)), *notes), ())
    return _record_results(state, results, phase.waiting, notes)


def finish_mid_turn(state: State, calls: tuple[ToolCall, ...], outcome: Outcome) -> Step:
    """End the run in the middle of a turn. Leads to ``Settled``.

    Calls that did not run get a result too, since providers reject a history with unanswered calls.
    """
    for call in calls:
        state = _abandon_call(state, call, call_abandoned(call.name))
    return settle(state, outcome)


def cancel_running(state: State, phase: AwaitingTools, outcome: Outcome) -> Step:
    """End the run while tools are running: record the results that arrived, abandon the other calls.

    Leads to ``Settled``.
    """
    for flight in phase.running:
        if flight.result is None:
            state = _abandon_call(state, flight.call, call_cancelled(flight.call.name))
        else:
            state, _ = _record_result(state, flight.call, flight.result, flight.parts)
    return finish_mid_turn(state, phase.waiting, outcome)


def _abandon_call(state: State, call: ToolCall, fault: Fault) -> State:
    tally = state.tally.counted(failed_calls=1)
    # Without the plan's transforms: one that failed is a reason to abandon a call.
    answered = state.said(ToolMessage(call.id, failed_envelope(call.name, fault).text()))
    return replace(
        with_notes(answered, CallAbandoned(tally.turns, call.id, shortened_name(call.name))), tally=tally
    )


def _record_results(
    state: State,
    results: Iterable[tuple[ToolCall, Envelope, tuple[Media, ...]]],
    waiting: tuple[ToolCall, ...],
    notes: tuple[Note, ...],
) -> Step:
    repetition: RepeatedCall | None = None
    for call, result, parts in results:
        state, repeated = _record_result(state, call, result, parts, notes)
        # The notes are about the event, so they are written once.
        repetition, notes = repetition or repeated, ()
    return finish_mid_turn(state, waiting, repetition) if repetition else run_calls(state, waiting)


def _record_result(
    state: State,
    call: ToolCall,
    result: Envelope,
    parts: tuple[Media, ...] = (),
    notes: tuple[Note, ...] = (),
    *,
    refused: bool = False,
) -> tuple[State, RepeatedCall | None]:
    """The state with a result, and the outcome if it was repeated too often.

    :param refused: whether the call was not run, since the same call has succeeded before
    """
    if is_final_tool_call(call, state.present):
        # No tool: it counts neither as a failed call nor for the modes and policies of tools.
        return with_notes(state.said(ToolMessage(call.id, result.text())), *notes), None
    config, tool = state.present.config, state.present.tools.by_name.get(call.name)
    name, turn = shortened_name(call.name) if tool is None else tool.name, state.tally.turns
    # Counted without the warning: else the warning, which contains the count, would make each result differ
    # from the one before.
    named = result if result.tool_name == name else replace(result, tool_name=name)
    memory, times = _memory_with_result(state.memory, name, call, named)
    if result.ok and remembers_calls(config):
        memory = memory_with_done_call(state, memory, call)
    if config.withhold_repeated:
        # One repetition of a failure is free: the model may be about to make the call in another way.
        memory = memory_with_withheld_tool(
            state, memory, call, times if refused else times - (1 if result.ok else 2)
        )
    # Tools that are polled are expected to return the same.
    repeated = 0 if tool is not None and tool.polling else times
    if config.repetition_warn is not None and repeated >= config.repetition_warn:
        result = with_repetition_warning(result, times)
        notes = (*notes, CallRepeated(turn, shortened_name(call.name), times))
    text, quirks = _result_text(result, config)
    tally = state.tally if result.ok else state.tally.counted(failed_calls=1)
    messages = state.messages.append(ToolMessage(call.id, text, parts=parts))
    noted = (*state.noted, *notes, *[QuirkApplied(turn, quirk) for quirk in quirks])
    stops = config.repetition_stop is not None and repeated >= config.repetition_stop
    outcome = RepeatedCall(shortened_name(call.name), times) if stops else None
    return replace(state, messages=messages, tally=tally, memory=memory, noted=noted), outcome


def _memory_with_result(memory: Memory, name: str, call: ToolCall, result: Envelope) -> tuple[Memory, int]:
    """The memory with one more result, and how many times in a row this call has had it.

    :param name: the inner name, since a model may use both names of a tool
    """
    arguments = call.arguments if isinstance(call.arguments, str) else call.original
    key, result_digest, was_ok = (
        chained_digest("", name, arguments),
        chained_digest("", result.text()),
        memory.last_ok.get(name),
    )
    before = memory.streaks.get(key)
    times = before.times + 1 if before is not None and before.result == result_digest else 1
    after = replace(
        memory,
        successes=memory.successes + result.ok,
        called=(*memory.called, name) if was_ok is None else memory.called,
        last_ok=memory.last_ok if was_ok is result.ok else memory.last_ok.set(name, result.ok),
        streaks=memory.streaks.set(key, Streak(result_digest, times)),
    )
    return after, times


def with_repetition_warning(result: Envelope, times: int) -> Envelope:
    warning = f"You have made this call {times} times in a row, always with this result. Do something else."
    return replace(result, warnings=(*result.warnings, warning))


def _result_text(result: Envelope, config: LoopConfig) -> tuple[str, tuple[str, ...]]:
    labels = ("untrusted_tools",) if result.untrusted else ()
    if config.result_format == "envelope" and not config.tool_result_transforms:
        return result.text(), labels
    applied = apply_transforms("tool_result", config.tool_result_transforms, result.tree())
    text = envelope_plain_text(applied.tree) if config.result_format == "plain" else canonical(applied.tree)
    return text, (*labels, *applied.changed)


def _call_rejected_note(state: State, call: ToolCall, fault: Fault) -> CallRejected:
    return CallRejected(state.tally.turns, call.id, shortened_name(call.name), fault.code, fault.message)


def _call_started_note(state: State, call: ToolCall) -> CallStarted:
    return CallStarted(state.tally.turns, call.id, call.name, call.provenance)
