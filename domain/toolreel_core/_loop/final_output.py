"""Judge a final answer that has to fit the plan's output: take it, ask again, or give up.

An answer that fits the schema as it stands is taken as it stands; the coercions of tool arguments are tried
only on one that does not. The model is asked again at most ``output_retries`` times in a run, whichever way
it answers. A call of the final tool gets a result, like any call: providers reject a history without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from toolreel_core._conversation import ToolMessage, UserMessage
from toolreel_core._jsontext import NOTHING, JsonText, canonical, either, read
from toolreel_core._loop.admission import unread_arguments_fault
from toolreel_core._loop.budgets import exhausted_limit
from toolreel_core._loop.conversation import end_exchange
from toolreel_core._loop.finish import outcome_of, settle, with_answer
from toolreel_core._loop.next_request import send_next_request
from toolreel_core._plan import AskedBy, OutputSpec, Plan, request_for
from toolreel_core._protocol import (
    Completed,
    InvalidOutput,
    Note,
    Outcome,
    OutputRejected,
    RepairApplied,
    State,
    Step,
)
from toolreel_core._replies import Answers, ArgumentError, Reading, Reply, ToolCall, answers_in, coerced
from toolreel_core._schema import Violation, violations
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import Envelope, Fault, arguments_violate_schema, call_abandoned, failed


@dataclass(frozen=True, slots=True)
class Accepted:
    """The value of a final answer, and the repairs that it needed."""

    value: JsonText
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """What is wrong with a final answer, in one sentence or two."""

    error: str


Judgement: TypeAlias = Accepted | Rejected
_Fit: TypeAlias = "Accepted | tuple[Violation, ...]"


def judged_text(plan: Plan, spec: OutputSpec, text: str) -> Judgement:
    """The judgement of an answer in text."""
    found = _answers(plan, text)
    fits = [
        _with_codes(_fit(spec, plan.config, reading, bare=found.whole), reading) for reading in found.readings
    ]
    accepted = [fit for fit in fits if isinstance(fit, Accepted)]
    values = {one.value for one in accepted}
    if len(values) == 1:
        return accepted[0]
    if values:
        return Rejected(f"Your answer holds {len(values)} different JSON values that fit.")
    broken = [fit for fit in fits if not isinstance(fit, Accepted)]
    if broken:
        return Rejected("; ".join(_in_answer(violation) for violation in broken[-1]) + ".")
    return Rejected(f"Your answer is not valid JSON: {found.why}.")


def judged_call(plan: Plan, spec: OutputSpec, call: ToolCall) -> Accepted | Fault:
    """The judgement of an answer as a call of the final tool."""
    arguments = call.arguments
    match arguments:
        case JsonText():
            fit = _fit_text(spec, plan.config, arguments)
            if isinstance(fit, Accepted):
                return fit
            return _bare(spec, plan.config, call) or arguments_violate_schema(spec.name, fit)
        case ArgumentError():
            return _bare(spec, plan.config, call) or unread_arguments_fault(spec.name, arguments, plan)
        case _:
            assert_never(arguments)


def is_asked_for(plan: Plan, text: str) -> bool:
    """Whether a text is, as a whole, the JSON object that was asked for.

    Its keys have to be declared: a schema that takes any object would also take the JSON of a call. A call of
    the final tool, which is never run, is an answer in any notation.
    """
    spec = plan.output
    if spec is None:
        return False
    found = _answers(plan, text)
    tree = found.readings[0].tree if found.whole else None
    if not isinstance(tree, Mapping) or not tree:
        return False
    meant = tree.keys() <= spec.keys or (plan.asked_by == "tool" and tree.get("name") == spec.name)
    return meant and isinstance(_fit(spec, plan.config, found.readings[0], bare=False), Accepted)


def _answers(plan: Plan, text: str) -> Answers:
    config = plan.config
    return answers_in(text, max_depth=config.max_argument_depth, repairs=config.argument_repairs)


def _fit(spec: OutputSpec, config: LoopConfig, reading: Reading, *, bare: bool) -> _Fit:
    text = canonical(reading.tree)
    fit = _fit_text(spec, config, text)
    may_be_bare = spec.wrapped and config.argument_repairs != "strict"
    if may_be_bare and not isinstance(fit, Accepted) and (bare or isinstance(reading.tree, Mapping | list)):
        return _unwrapped(spec, text) or fit
    return fit


def _fit_text(spec: OutputSpec, config: LoopConfig, text: JsonText) -> _Fit:
    found = violations(spec.sent, text)
    if not found:
        return Accepted(spec.value_of(text))
    if not text.startswith("{"):
        return found
    intended = coerced(
        spec.sent,
        text,
        names=(spec.name,),
        repair=config.argument_repairs != "strict",
        drop_nulls=config.null_for_optional_is_absent,
        max_depth=config.max_argument_depth,
    )
    if intended.doubt:
        return found
    if broken := violations(spec.sent, intended.arguments):
        return broken
    return Accepted(spec.value_of(intended.arguments), intended.codes)


def _unwrapped(spec: OutputSpec, text: JsonText) -> Accepted | None:
    """The value itself, without the object around it that was asked for."""
    return None if violations(spec.schema, text) else Accepted(text, ("OUTPUT_BARE",))


def _bare(spec: OutputSpec, config: LoopConfig, call: ToolCall) -> Accepted | None:
    """The arguments of a call that are the value itself."""
    is_cut = isinstance(call.arguments, ArgumentError) and call.arguments.code == "ARGUMENTS_TRUNCATED"
    if not spec.wrapped or config.argument_repairs == "strict" or is_cut:
        return None
    text = either(read(call.original, max_depth=config.max_argument_depth, unique_keys=True).map(canonical))
    return _unwrapped(spec, text) if isinstance(text, JsonText) else None


def _with_codes(fit: _Fit, reading: Reading) -> _Fit:
    return Accepted(fit.value, (*reading.codes, *fit.codes)) if isinstance(fit, Accepted) else fit


def _in_answer(violation: Violation) -> str:
    """A violation in words; the empty pointer is the answer, which has no arguments."""
    return f"{violation.pointer or 'your answer'}: expected {violation.expected}, got {violation.got}"


def asked_by(state: State) -> AskedBy:
    """How the answer is asked for now: in text, once the server has rejected tools."""
    mode = state.present.asked_by or "text"
    return "text" if mode == "tool" and state.memory.tools_dropped else mode


def answer_in_text(
    state: State, spec: OutputSpec, reply: Reply, notes: tuple[Note, ...], *, tools_sent: bool
) -> Step:
    """Judge a reply without calls. Leads to ``Settled`` or ``AwaitingReply``."""
    judgement = judged_text(state.present, spec, reply.content)
    said = with_answer(state, reply)
    match judgement:
        case Accepted():
            return end_exchange(
                said, Completed(reply.content, judgement.value), (*notes, *_repairs(state, judgement))
            )
        case Rejected():
            notes = (*notes, _rejected(state, judgement.error))
            if not _may_ask(state):
                return settle(said, InvalidOutput(reply.content, judgement.error), notes)
            asking = said.said(UserMessage(f"{judgement.error} {request_for(spec, asked_by(state))}"))
            return send_next_request(_counted(asking), notes, tools=tools_sent)
        case _:
            assert_never(judgement)


def answer_by_call(
    state: State, spec: OutputSpec, calls: tuple[ToolCall, ...], notes: tuple[Note, ...], *, tools_sent: bool
) -> Step:
    """Judge a reply whose calls, which are in the history, are all of the final tool.

    Leads to ``Settled`` or ``AwaitingReply``. The first call that fits is the answer. In an enforced run
    whose tools have not done what they must, the outcome says so, whatever the answer is.
    """
    unmet = outcome_of(state, Reply(content=calls[0].original))
    if not isinstance(unmet, Completed):
        abandoned = failed(spec.name, call_abandoned(spec.name)).text()
        return settle(state.said(*(ToolMessage(call.id, abandoned) for call in calls)), unmet, notes)
    judgements = [judged_call(state.present, spec, call) for call in calls]
    for call, judgement in zip(calls, judgements, strict=True):
        match judgement:
            case Accepted():
                done = Completed(judgement.value, judgement.value)
                return _taken(state, spec, calls, call, done, (*notes, *_repairs(state, judgement)))
            case Fault():
                continue
            case _:
                assert_never(judgement)
    faults = [judgement for judgement in judgements if isinstance(judgement, Fault)]
    return _asked_again(state, spec, calls, faults, notes, tools_sent=tools_sent)


def _taken(
    state: State,
    spec: OutputSpec,
    calls: tuple[ToolCall, ...],
    answer: ToolCall,
    outcome: Outcome,
    notes: tuple[Note, ...],
) -> Step:
    for call in calls:
        result = (
            Envelope(True, spec.name, NOTHING)
            if call is answer
            else failed(spec.name, call_abandoned(spec.name))
        )
        state = state.said(ToolMessage(call.id, result.text()))
    return end_exchange(state, outcome, notes)


def _asked_again(
    state: State,
    spec: OutputSpec,
    calls: tuple[ToolCall, ...],
    faults: list[Fault],
    notes: tuple[Note, ...],
    *,
    tools_sent: bool,
) -> Step:
    told = told_by_calls(state, spec, calls, faults)
    notes = (*notes, _rejected(state, faults[0].message))
    if not _may_ask(state):
        return settle(told, InvalidOutput(calls[0].original, faults[0].message), notes)
    return send_next_request(_counted(told), notes, tools=tools_sent)


def told_by_calls(state: State, spec: OutputSpec, calls: tuple[ToolCall, ...], faults: list[Fault]) -> State:
    """The state with a fault as the result of each call of the final tool."""
    results = zip(calls, faults, strict=True)
    return state.said(*(ToolMessage(call.id, failed(spec.name, fault).text()) for call, fault in results))


def _may_ask(state: State) -> bool:
    retries = state.present.config.output_retries
    return state.memory.outputs_rejected < retries and exhausted_limit(state) is None


def _counted(state: State) -> State:
    return replace(state, memory=replace(state.memory, outputs_rejected=state.memory.outputs_rejected + 1))


def _rejected(state: State, error: str) -> OutputRejected:
    return OutputRejected(state.tally.turns, error, _may_ask(state))


def _repairs(state: State, accepted: Accepted) -> tuple[RepairApplied, ...]:
    return tuple(RepairApplied(state.tally.turns, code) for code in dict.fromkeys(accepted.codes))
