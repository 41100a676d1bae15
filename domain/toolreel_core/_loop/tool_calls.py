"""The calls of a reply: which of them are admitted, and run."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias, assert_never

from toolreel_core._conversation import Media, ToolMessage, blobs_of, is_taken, left_out
from toolreel_core._jsontext import JsonText, canonical, chain, deeper, digest, link
from toolreel_core._loop.finish import counted_spending, settle, tool_calls_left, tool_calls_spent
from toolreel_core._loop.next_request import send_next_request
from toolreel_core._loop.weak_models import is_done, repetitions, with_done, with_withheld
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalAsked,
    ApprovalGiven,
    AskApproval,
    AwaitingApproval,
    AwaitingTools,
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
from toolreel_core._replies import ArgumentError, Intended, ToolCall, coerced
from toolreel_core._schema import unknown_keys, violations
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    Envelope,
    Fault,
    ToolDefinition,
    already_done,
    arguments_in_envelope,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_truncated,
    arguments_violate_schema,
    call_abandoned,
    call_cancelled,
    call_denied,
    envelope_of,
    failed,
    matches,
    output_not_alone,
    parts_too_large,
    plain_text,
    shown,
    tool_not_allowed,
    tool_not_allowed_as_text,
    tool_not_found,
)
from toolreel_core._transforms import apply_all

# Admission: the checks between a model and a tool, and the effects that run what passed.
#
# The checks run in this order, and the first failure is returned to the model: the tool exists and is not
# masked; a call in text may run it; the arguments are within the limits; they parsed; they are valid against
# the schema. Cheap checks come first, and the size limit protects the parser and the validator. The admitted
# arguments run byte for byte, under the tool's inner name, with an idempotency key.


Admission: TypeAlias = JsonText | Fault
"""The arguments to run a tool with, or the fault that is returned to the model."""


def admit(call: ToolCall, plan: Plan) -> Admission:
    """Check one call: its arguments, ready to run, or a fault."""
    tool = plan.tools.by_name.get(call.name)
    if is_final(call, plan):
        return output_not_alone(call.name)
    if tool is None or not tool.exposed:
        # A tool that is masked or not exposed exists: the model is told that it may not call it.
        offered = plan.callable_tools
        missing = tool_not_allowed if call.name in offered.known else tool_not_found
        return missing(call.name, offered.names)
    if plan.config.text_calls_for == "read_only" and call.from_text and not tool.read_only:
        return tool_not_allowed_as_text(tool.outward)
    if fault := _size_fault(call, tool, plan.config):
        return fault
    if isinstance(call.arguments, ArgumentError):
        return unread_arguments_fault(call.name, call.arguments, plan)
    # Coerce first, so that the schema judges what would run.
    intended = coerced_arguments(tool, call.arguments, plan.config)
    if intended.doubt:
        return arguments_in_envelope(tool.name, intended.doubt)
    found = violations(tool.parameters, intended.arguments) or unknown_keys(
        tool.parameters, intended.arguments
    )
    return arguments_violate_schema(tool.name, found) if found else intended.arguments


def is_final(call: ToolCall, plan: Plan) -> bool:
    """Whether a call is one of the final tool, which gives the run's answer and is never run."""
    return plan.asked_by == "tool" and plan.output is not None and call.name == plan.output.name


def needs_approval(call: ToolCall, plan: Plan) -> bool:
    """Whether an admitted call needs approval: because of its tool, or because it was written as text."""
    tool = plan.tools.by_name[call.name]
    doubtful = plan.config.text_calls_for == "approved" and call.from_text and not tool.read_only
    return tool.needs_approval or doubtful


def _size_fault(call: ToolCall, tool: ToolDefinition, config: LoopConfig) -> Fault | None:
    limit = config.max_tool_args_bytes if tool.max_args_bytes is None else tool.max_args_bytes
    # The length of an ASCII text is its size in UTF-8; only other texts have to be encoded to be measured.
    size = len(call.original) if call.original.isascii() else len(call.original.encode())
    if size > limit:
        return arguments_too_large(call.name, size, limit)
    levels = config.max_argument_depth
    return arguments_too_deep(call.name, levels) if deeper(call.original, levels) else None


def unread_arguments_fault(name: str, error: ArgumentError, plan: Plan) -> Fault:
    """The fault for arguments that could not be read."""
    match error.code:
        case "ARGUMENTS_INVALID_JSON":
            return arguments_not_json(name, error.detail)
        case "ARGUMENTS_NOT_OBJECT":
            return arguments_not_object(name, error.detail)
        case "ARGUMENTS_TRUNCATED":
            return arguments_truncated(name, plan.bodies.output_cap)
        case _:
            assert_never(error.code)


def coerced_arguments(tool: ToolDefinition, arguments: JsonText, config: LoopConfig) -> Intended:
    """The arguments coerced to the tool's schema, as far as ``argument_repairs`` allows.

    An envelope is opened, nested JSON text is decoded, and nulls that mean "absent" are dropped.
    """
    return coerced(
        tool.parameters,
        arguments,
        names=(tool.name, tool.outward),
        repair=config.argument_repairs != "strict",
        drop_nulls=config.null_for_optional_is_absent,
        max_depth=config.max_argument_depth,
    )


def run_tool(state: State, ref: int, call: ToolCall, arguments: JsonText) -> RunTool:
    """The effect that runs a call of the current turn."""
    name = state.present.tools.inner(call.name)
    return RunTool(ref, call.id, name, arguments, call_key(state, call), state.tally.turns)


def ask_approval(state: State, ref: int, call: ToolCall, arguments: JsonText) -> AskApproval:
    """The effect that asks for approval of a call of the current turn."""
    return AskApproval(ref, call.id, state.present.tools.inner(call.name), arguments)


def call_key(state: State, call: ToolCall) -> str:
    """The idempotency key of a call, computed from the plan, the turn and the call's position in it.

    A run has the same keys when it is replayed, resumed or repeated. To make a tool act again, use a plan
    with another seed.
    """
    # The index in the latest assistant message: models and servers choose ids at random.
    ids = [sent.id for sent in state.messages.projection.called]
    place = str(ids.index(call.id)) if call.id in ids else call.id
    turn = digest(str(state.tally.turns))
    return link(link(chain("call", state.plan.digest), turn), digest(place))


# Run the calls of a turn, and record the result of each in call order.
#
# A turn's calls are handled from left to right. A rejected call gets its fault as the result; an admitted one
# leads to ``RunTool`` or ``AskApproval``, and the calls after it wait. With ``parallel_tools``, consecutive
# read-only calls run at the same time. When no call is left, the next request is sent.


def record_repetition(memory: Memory, call: ToolCall, result: Envelope) -> tuple[Memory, int]:
    """The memory with one more result, and how many times in a row this call now had it."""
    name, arguments = call.name, call.arguments if isinstance(call.arguments, str) else call.original
    key = link(chain("", name), digest(arguments))
    result_digest = chain("", result.text())
    before = memory.streaks.get(key)
    times = before.times + 1 if before is not None and before.result == result_digest else 1
    last_ok = memory.last_ok.get(name)
    after = replace(
        memory,
        successes=memory.successes + result.ok,
        called=(*memory.called, name) if last_ok is None else memory.called,
        last_ok=memory.last_ok if last_ok is result.ok else memory.last_ok.set(name, result.ok),
        streaks=memory.streaks.set(key, Streak(result_digest, times)),
    )
    return after, times


def with_repetition_warning(result: Envelope, times: int) -> Envelope:
    """The result with a warning to the model that it repeats itself."""
    warning = f"You have made this call {times} times in a row, always with this result. Do something else."
    return replace(result, warnings=(*result.warnings, warning))


class PartsTaken(NamedTuple):
    """A result and the parts that go with it."""

    result: Envelope
    """With a warning for each part that the provider does not take; failed if there is too much."""
    parts: tuple[Media, ...]
    notes: tuple[PartsLeftOut, ...]


def parts_taken(state: State, call: ToolCall, result: Envelope, parts: tuple[Media, ...]) -> PartsTaken:
    """What the model gets of the parts of a result."""
    limit, size = state.present.config.max_tool_parts_bytes, sum(blob.size for blob in blobs_of(parts))
    if size > limit:
        return PartsTaken(failed(call.name, parts_too_large(call.name, size, limit)), (), ())
    provider = state.present.provider
    taken = tuple([part for part in parts if is_taken(part, provider)])
    if len(taken) == len(parts):
        return PartsTaken(result, parts, ())
    lost = [part for part in parts if not is_taken(part, provider)]
    told = replace(result, warnings=(*result.warnings, *[left_out(part, provider) for part in lost]))
    note = PartsLeftOut(state.tally.turns, call.id, call.name, tuple([part.label for part in lost]))
    return PartsTaken(told, taken, (note,))


def rendered(state: State, result: Envelope) -> tuple[str, tuple[QuirkApplied, ...]]:
    """The text of a result after the plan's transforms, and a note for each that changed it."""
    config = state.present.config
    labelled = ("untrusted_tools",) if result.untrusted else ()
    plain = config.result_format == "plain"
    if not config.tool_result_transforms:
        text = plain_text(result.tree()) if plain else result.text()
        return text, tuple([QuirkApplied(state.tally.turns, name) for name in labelled])
    applied = apply_all("tool_result", config.tool_result_transforms, result.tree())
    notes = (QuirkApplied(state.tally.turns, name) for name in (*labelled, *applied.changed))
    return plain_text(applied.tree) if plain else canonical(applied.tree), tuple(notes)


def run_calls(state: State, calls: tuple[ToolCall, ...], notes: tuple[Note, ...] = ()) -> Step:
    """Start the next call that is admitted; rejected calls before it get their fault as the result.

    Leads to ``AwaitingTools`` or ``AwaitingApproval``; to ``AwaitingReply`` when no call is left; to
    ``Settled`` when the budget of tool calls is used up or a call was repeated too often.
    """
    for index, call in enumerate(calls):
        admission = admit(call, state.present)
        match admission:
            case Fault():
                notes = (*notes, _call_rejected(state, call, admission))
                state, result_notes, repetition = _record_result(state, call, failed(call.name, admission))
                notes = (*notes, *result_notes)
                if repetition:
                    return finish_mid_turn(state, calls[index + 1 :], repetition, notes)
            case JsonText():
                if state.present.config.repeated_effects == "refuse" and is_done(state, call, admission):
                    notes = (*notes, CallSkipped(state.tally.turns, call.id, shown(call.name)))
                    done = already_done(call.name)
                    state, result_notes, repetition = _record_result(state, call, done, refused=True)
                    notes = (*notes, *result_notes)
                    if repetition:
                        return finish_mid_turn(state, calls[index + 1 :], repetition, notes)
                    continue
                if limit := tool_calls_spent(state):
                    return finish_mid_turn(state, calls[index:], limit, notes)
                if needs_approval(call, state.present):
                    return _ask_for_approval(state, call, admission, calls[index + 1 :], notes)
                return _start_calls(state, calls[index:], admission, notes)
            case _:
                assert_never(admission)
    return send_next_request(state, notes)


def approval_given(state: State, phase: AwaitingApproval, event: ApprovalGiven) -> Step:
    """Run the approved call, or return the denial to the model.

    Approved, it leads to ``AwaitingTools``; denied, on to the next call as in :func:`run_calls`.
    """
    call = phase.call
    if event.approved:
        # The approved arguments run without another check: a second coercion could change them.
        ref = state.next_ref
        flight = InFlight(ref, call, since_ms=state.tally.at_ms)
        running = _with_running(state, (flight,), phase.waiting, ref + 1)
        effect = run_tool(state, ref, call, phase.arguments)
        return Step(running, (effect,), (_call_started(state, call),))
    denied = call_denied(call.name, event.reason)
    rejected = _call_rejected(state, call, denied)
    state, result_notes, repetition = _record_result(state, call, failed(call.name, denied))
    if repetition:
        return finish_mid_turn(state, phase.waiting, repetition, (rejected, *result_notes))
    return run_calls(state, phase.waiting, (rejected, *result_notes))


def tool_returned(state: State, phase: AwaitingTools, event: ToolReturned) -> Step:
    """Keep a result until all running calls have theirs, then record them in call order and go on.

    Stays in ``AwaitingTools`` while calls are running, then leads on as :func:`run_calls` does.
    """
    (returned,) = [flight for flight in phase.running if flight.ref == event.ref]
    state = counted_spending(state, event.spent)
    own_limit = state.present.tools.by_name[returned.call.name].max_output_bytes
    limit = state.present.config.max_tool_output_bytes if own_limit is None else own_limit
    inner = state.present.tools.inner(returned.call.name)
    untrusted = any(matches(pattern, inner) for pattern in state.present.config.untrusted_tools)
    result = envelope_of(returned.call.name, event.output, limit=limit, untrusted=untrusted)
    parts: tuple[Media, ...] = ()
    notes: tuple[Note, ...] = ()
    if event.parts:
        taken = parts_taken(state, returned.call, result, event.parts)
        result, parts, notes = taken.result, taken.parts, taken.notes
    ended = _call_ended(state, returned, result, event.at_ms)
    completed = replace(returned, result=result, parts=parts)
    running = tuple([completed if flight is returned else flight for flight in phase.running])
    results = tuple(
        [(flight.call, flight.result, flight.parts) for flight in running if flight.result is not None]
    )
    if len(results) < len(running):
        return Step(replace(state, phase=AwaitingTools(running, phase.waiting)), (), (ended, *notes))
    return _record_results(state, results, phase.waiting, (ended, *notes))


def finish_mid_turn(
    state: State, calls: tuple[ToolCall, ...], outcome: Outcome, notes: tuple[Note, ...] = ()
) -> Step:
    """End the run in the middle of a turn. Leads to ``Settled``.

    Calls that did not run get a result too, since providers reject a history with unanswered calls.
    """
    for call in calls:
        state, note = _abandon_call(state, call, call_abandoned(call.name))
        notes = (*notes, note)
    return settle(state, outcome, notes)


def cancel_running(state: State, phase: AwaitingTools, outcome: Outcome) -> Step:
    """End the run while tools are running: record the results that arrived, abandon the other calls.

    Leads to ``Settled``.
    """
    notes: tuple[Note, ...] = ()
    for flight in phase.running:
        if flight.result is None:
            state, note = _abandon_call(state, flight.call, call_cancelled(flight.call.name))
            notes = (*notes, note)
        else:
            state, result_notes, _ = _record_result(state, flight.call, flight.result, flight.parts)
            notes = (*notes, *result_notes)
    return finish_mid_turn(state, phase.waiting, outcome, notes)


def _abandon_call(state: State, call: ToolCall, fault: Fault) -> tuple[State, CallAbandoned]:
    tally = state.tally.counted(failed_calls=1)
    # Without the plan's transforms: one that failed is a reason to abandon a call.
    answered = replace(state.said(ToolMessage(call.id, failed(call.name, fault).text())), tally=tally)
    return answered, CallAbandoned(tally.turns, call.id, shown(call.name))


def _record_results(
    state: State,
    results: tuple[tuple[ToolCall, Envelope, tuple[Media, ...]], ...],
    waiting: tuple[ToolCall, ...],
    notes: tuple[Note, ...],
) -> Step:
    repetition: RepeatedCall | None = None
    for call, result, parts in results:
        state, result_notes, found = _record_result(state, call, result, parts)
        notes, repetition = (*notes, *result_notes), repetition or found
    if repetition:
        return finish_mid_turn(state, waiting, repetition, notes)
    return run_calls(state, waiting, notes)


def _start_calls(state: State, calls: tuple[ToolCall, ...], first: JsonText, notes: tuple[Note, ...]) -> Step:
    """Start the first call, and with ``parallel_tools`` the read-only calls right after it."""
    concurrent = calls[: _concurrent_count(state, calls)]
    admissions = (first, *(admit(call, state.present) for call in concurrent[1:]))
    flights: list[InFlight] = []
    effects: list[RunTool] = []
    for call, admission in zip(concurrent, admissions, strict=True):
        match admission:
            case Fault():
                notes = (*notes, _call_rejected(state, call, admission))
                flights.append(InFlight(0, call, failed(call.name, admission)))
            case JsonText():
                ref = state.next_ref + len(effects)
                notes = (*notes, *_repair_notes(state, call, admission), _call_started(state, call))
                coerced_call = call if call.arguments == admission else replace(call, arguments=admission)
                flights.append(InFlight(ref, coerced_call, since_ms=state.tally.at_ms))
                effects.append(run_tool(state, ref, call, admission))
            case _:
                assert_never(admission)
    running = _with_running(state, tuple(flights), calls[len(concurrent) :], state.next_ref + len(effects))
    return Step(running, tuple(effects), notes)


def _concurrent_count(state: State, calls: tuple[ToolCall, ...]) -> int:
    """How many of the next calls run at the same time; at least 1."""
    if not state.present.config.parallel_tools:
        return 1
    tools, left, count = state.present.tools.by_name, tool_calls_left(state), 0
    for call in calls:
        tool = tools.get(call.name)
        if tool is None or not tool.read_only or tool.needs_approval:
            break
        count += 1
    return max(1, count if left is None else min(count, left))


def _with_running(
    state: State, flights: tuple[InFlight, ...], waiting: tuple[ToolCall, ...], next_ref: int
) -> State:
    started = len([flight for flight in flights if flight.result is None])
    tally = state.tally.counted(tool_calls=started)
    return replace(state, phase=AwaitingTools(flights, waiting), tally=tally, next_ref=next_ref)


def _ask_for_approval(
    state: State, call: ToolCall, arguments: JsonText, waiting: tuple[ToolCall, ...], notes: tuple[Note, ...]
) -> Step:
    ref, coerced_call = state.next_ref, replace(call, arguments=arguments)
    asking = replace(state, phase=AwaitingApproval(ref, coerced_call, arguments, waiting), next_ref=ref + 1)
    effect = ask_approval(state, ref, call, arguments)
    notes = (*notes, *_repair_notes(state, call, arguments))
    return Step(asking, (effect,), (*notes, ApprovalAsked(state.tally.turns, call.id, call.name)))


def _record_result(
    state: State,
    call: ToolCall,
    result: Envelope,
    parts: tuple[Media, ...] = (),
    *,
    refused: bool = False,
) -> tuple[State, tuple[Note, ...], RepeatedCall | None]:
    """The state with a result in its history, the notes, and the outcome if it was repeated too often.

    :param refused: whether it was not run, since the same call has succeeded before
    """
    if is_final(call, state.present):
        # No tool: it counts neither as a failed call nor for the modes and policies of tools.
        return state.said(ToolMessage(call.id, result.text())), (), None
    config, tool = state.present.config, state.present.tools.by_name.get(call.name)
    name = shown(call.name) if tool is None else tool.name
    named = result if result.tool_name == name else replace(result, tool_name=name)
    # The streak is counted under the inner name and without the warning: else the warning, which contains
    # the count, would make each result differ from the one before.
    memory, times = record_repetition(
        state.memory, call if call.name == name else replace(call, name=name), named
    )
    if result.ok and config.remembers_calls:
        memory = with_done(state, memory, call)
    if config.withhold_repeated:
        memory = with_withheld(state, memory, call, times if refused else repetitions(result, times))
    polling = tool is not None and tool.polling
    notes: tuple[Note, ...] = ()
    if config.repetition_warn is not None and times >= config.repetition_warn and not polling:
        result = with_repetition_warning(result, times)
        notes = (CallRepeated(state.tally.turns, shown(call.name), times),)
    text, changed = rendered(state, result)
    messages = state.messages.append(ToolMessage(call.id, text, parts=parts))
    tally = state.tally if result.ok else state.tally.counted(failed_calls=1)
    answered = replace(state, messages=messages, tally=tally, memory=memory)
    stops = config.repetition_stop is not None and times >= config.repetition_stop and not polling
    return answered, (*notes, *changed), RepeatedCall(shown(call.name), times) if stops else None


def _call_rejected(state: State, call: ToolCall, fault: Fault) -> CallRejected:
    return CallRejected(state.tally.turns, call.id, shown(call.name), fault.code, fault.message)


def _repair_notes(state: State, call: ToolCall, arguments: JsonText) -> tuple[Note, ...]:
    """A note for each repair of an admitted call's arguments."""
    if arguments == call.arguments or not isinstance(call.arguments, JsonText):
        return ()
    plan = state.present
    codes = coerced_arguments(plan.tools.by_name[call.name], call.arguments, plan.config).codes
    return tuple(RepairApplied(state.tally.turns, code) for code in codes)


def _call_started(state: State, call: ToolCall) -> CallStarted:
    return CallStarted(state.tally.turns, call.id, call.name, call.provenance)


def _call_ended(state: State, returned: InFlight, result: Envelope, at_ms: int | None) -> CallEnded:
    call, text = returned.call, result.text()
    size = len(text) if text.isascii() else len(text.encode())
    codes = tuple([error.code for error in result.errors])
    elapsed_ms = None if at_ms is None else max(0, at_ms - returned.since_ms)
    return CallEnded(state.tally.turns, call.id, call.name, result.ok, codes, size, elapsed_ms)
