"""The final answer: checked, and fitted to the output of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, assert_never

from toolreel_core._conversation import AssistantMessage, ToolMessage, UserMessage
from toolreel_core._jsontext import NOTHING, JsonText, canonical, either, read
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop.finish import exhausted_limit, outcome_of, settle, with_answer
from toolreel_core._loop.next_request import end_exchange, send_next_request
from toolreel_core._loop.tool_calls import unread_arguments_fault
from toolreel_core._loop.weak_models import restatement
from toolreel_core._plan import AskedBy, OutputSpec, Plan, request_for
from toolreel_core._protocol import (
    Completed,
    InvalidOutput,
    ModelNudged,
    Note,
    Outcome,
    OutputRejected,
    RecoveryTried,
    RepairApplied,
    State,
    Step,
)
from toolreel_core._replies import (
    ArgumentError,
    Problem,
    ProblemCode,
    Reading,
    Reply,
    ToolCall,
    coerced,
)
from toolreel_core._schema import Violation, violations
from toolreel_core._settings import DEFAULT_FINAL_TEXT, LoopConfig
from toolreel_core._tools import (
    Envelope,
    Fault,
    arguments_violate_schema,
    call_abandoned,
    failed,
    output_too_early,
)

# Judge a final answer that has to fit the plan's output: take it, ask again, or give up.
#
# An answer that fits the schema as it stands is taken as it stands; the coercions of tool arguments are tried
# only on one that does not. The model is asked again at most ``output_retries`` times in a run, whichever way
# it answers. A call of the final tool gets a result, like any call: providers reject a history without.


class Accepted(NamedTuple):
    """The value of a final answer, and the repairs that it needed."""

    value: JsonText
    codes: tuple[str, ...] = ()


class Rejected(NamedTuple):
    """What is wrong with a final answer, in one sentence or two."""

    error: str


Judgement: TypeAlias = Accepted | Rejected
_Fit: TypeAlias = "Accepted | tuple[Violation, ...]"


def judged_text(plan: Plan, spec: OutputSpec, text: str) -> Judgement:
    """The judgement of an answer in text."""
    found = _json_answers(plan, text)
    fits = [
        _with_repair_codes(_fit_answer(spec, plan.config, reading, bare=found.whole), reading)
        for reading in found.readings
    ]
    accepted = [fit for fit in fits if isinstance(fit, Accepted)]
    values = {one.value for one in accepted}
    if len(values) == 1:
        return accepted[0]
    if values:
        return Rejected(f"Your answer holds {len(values)} different JSON values that fit.")
    broken = [fit for fit in fits if not isinstance(fit, Accepted)]
    if broken:
        return Rejected("; ".join(_violation_text(violation) for violation in broken[-1]) + ".")
    return Rejected(f"Your answer is not valid JSON: {found.why}.")


def judged_call(plan: Plan, spec: OutputSpec, call: ToolCall) -> Accepted | Fault:
    """The judgement of an answer as a call of the final tool."""
    arguments = call.arguments
    match arguments:
        case JsonText():
            fit = _fit_text(spec, plan.config, arguments)
            if isinstance(fit, Accepted):
                return fit
            return _value_in_arguments(spec, plan.config, call) or arguments_violate_schema(spec.name, fit)
        case ArgumentError():
            return _value_in_arguments(spec, plan.config, call) or unread_arguments_fault(
                spec.name, arguments, plan
            )
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
    found = _json_answers(plan, text)
    tree = found.readings[0].tree if found.whole else None
    if not isinstance(tree, Mapping) or not tree:
        return False
    meant = tree.keys() <= spec.keys or (plan.asked_by == "tool" and tree.get("name") == spec.name)
    return meant and isinstance(_fit_answer(spec, plan.config, found.readings[0], bare=False), Accepted)


def _json_answers(plan: Plan, text: str) -> Answers:
    from toolreel_core._replies import answers_in  # noqa: PLC0415 - few runs have an output

    config = plan.config
    return answers_in(text, max_depth=config.max_argument_depth, repairs=config.argument_repairs)


def _fit_answer(spec: OutputSpec, config: LoopConfig, reading: Reading, *, bare: bool) -> _Fit:
    text = canonical(reading.tree)
    fit = _fit_text(spec, config, text)
    may_be_bare = spec.wrapped and config.argument_repairs != "strict"
    if may_be_bare and not isinstance(fit, Accepted) and (bare or isinstance(reading.tree, Mapping | list)):
        return _unwrap_value(spec, text) or fit
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


def _unwrap_value(spec: OutputSpec, text: JsonText) -> Accepted | None:
    """The value itself, without the object around it that was asked for."""
    return None if violations(spec.schema, text) else Accepted(text, ("OUTPUT_BARE",))


def _value_in_arguments(spec: OutputSpec, config: LoopConfig, call: ToolCall) -> Accepted | None:
    """The arguments of a call that are the value itself."""
    is_cut = isinstance(call.arguments, ArgumentError) and call.arguments.code == "ARGUMENTS_TRUNCATED"
    if not spec.wrapped or config.argument_repairs == "strict" or is_cut:
        return None
    text = either(read(call.original, max_depth=config.max_argument_depth, unique_keys=True).map(canonical))
    return _unwrap_value(spec, text) if isinstance(text, JsonText) else None


def _with_repair_codes(fit: _Fit, reading: Reading) -> _Fit:
    return Accepted(fit.value, (*reading.codes, *fit.codes)) if isinstance(fit, Accepted) else fit


def _violation_text(violation: Violation) -> str:
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
                said, Completed(reply.content, judgement.value), (*notes, *_output_repairs(state, judgement))
            )
        case Rejected():
            notes = (*notes, _output_rejected(state, judgement.error))
            if not _has_output_retries(state):
                return settle(said, InvalidOutput(reply.content, judgement.error), notes)
            asking = said.said(UserMessage(f"{judgement.error} {request_for(spec, asked_by(state))}"))
            return send_next_request(_count_output_retry(asking), notes, tools=tools_sent)
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
                return _accept_answer(
                    state, spec, calls, call, done, (*notes, *_output_repairs(state, judgement))
                )
            case Fault():
                continue
            case _:
                assert_never(judgement)
    faults = [judgement for judgement in judgements if isinstance(judgement, Fault)]
    return _ask_for_valid_output(state, spec, calls, faults, notes, tools_sent=tools_sent)


def _accept_answer(
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


def _ask_for_valid_output(
    state: State,
    spec: OutputSpec,
    calls: tuple[ToolCall, ...],
    faults: list[Fault],
    notes: tuple[Note, ...],
    *,
    tools_sent: bool,
) -> Step:
    told = told_by_calls(state, spec, calls, faults)
    notes = (*notes, _output_rejected(state, faults[0].message))
    if not _has_output_retries(state):
        return settle(told, InvalidOutput(calls[0].original, faults[0].message), notes)
    return send_next_request(_count_output_retry(told), notes, tools=tools_sent)


def told_by_calls(state: State, spec: OutputSpec, calls: tuple[ToolCall, ...], faults: list[Fault]) -> State:
    """The state with a fault as the result of each call of the final tool."""
    results = zip(calls, faults, strict=True)
    return state.said(*(ToolMessage(call.id, failed(spec.name, fault).text()) for call, fault in results))


def _has_output_retries(state: State) -> bool:
    retries = state.present.config.output_retries
    return state.memory.outputs_rejected < retries and exhausted_limit(state) is None


def _count_output_retry(state: State) -> State:
    return replace(state, memory=replace(state.memory, outputs_rejected=state.memory.outputs_rejected + 1))


def _output_rejected(state: State, error: str) -> OutputRejected:
    return OutputRejected(state.tally.turns, error, _has_output_retries(state))


def _output_repairs(state: State, accepted: Accepted) -> tuple[RepairApplied, ...]:
    return tuple(RepairApplied(state.tally.turns, code) for code in dict.fromkeys(accepted.codes))


# A reply without tool calls: end the run, or ask the model again.
#
# The model is asked again for three reasons: it wrote what is or looks like a call and could not be read, it
# skipped its tools in an enforced run (a nudge), or it said nothing at all.


_OBJECT: Final = lazy_pattern(r"\{[^{}]*+\}|\([^()]*+\)")
_WORD: Final = lazy_pattern(r"[^\W\d]\w*+")
_PROSE: Final = 3
"""Different words outside of arguments that make a text an answer in words."""

if TYPE_CHECKING:
    from toolreel_core._loop.answer_checks import Check
    from toolreel_core._replies import Answers

_Skipped: TypeAlias = Literal["no_tool_calls", "text_call_rejected"]

_TRUNCATED: Final = "TEXT_CALL_TRUNCATED"
_MALFORMED: Final[ProblemCode] = "MALFORMED_FUNCTION_CALL"
_UNREAD: Final = "TEXT_CALL_MALFORMED"
_FOREIGN: Final = "TEXT_CALL_BUILTIN"
_SUSPECTED: Final = "TEXT_CALL_SUSPECTED"
_BROKEN: Final = frozenset({_UNREAD, _TRUNCATED, _FOREIGN})
_WRITTEN: Final = _BROKEN | {_SUSPECTED}
_OPEN: Final = frozenset({"", "TRUNCATED", "EMPTY_RESPONSE"})
"""Problems that do not rule out that the reply was meant to be a call; a refusal, for example, does."""


def final_reply(state: State, reply: Reply, notes: tuple[Note, ...], *, tools_sent: bool) -> Step:
    """End the run, or ask the model again.

    Leads to ``Settled`` or ``AwaitingReply``, also if the user spoke while the answer was made.
    If the turns or a budget are used up, the reply is final.
    """
    # The order matters: an unparsed call must never count as an answer, and an enforced run asks for tools
    # before it asks for a text.
    may_ask = exhausted_limit(state) is None
    may_call = may_ask and tools_sent and bool(state.present.callable_tools.names)
    # The request for a text after an empty one goes without tools; a call in its reply is no answer either.
    offered = tools_sent or state.memory.finalizing
    is_answer = reply.problem is None and is_asked_for(state.present, reply.content)
    if offered and _has_unread_call(reply, state.present) and not is_answer:
        if _is_repeated_answer(state, reply):
            return end_exchange(with_answer(state, reply), outcome_of(state, reply), notes)
        # One correction is allowed even without nudges: the error is new information for the model.
        if may_call and state.memory.corrections < max(1, state.present.config.nudge_no_tool_calls):
            return _correct_unread_call(state, reply, notes)
        return _finish_unread_call(state, reply, notes)
    if may_call and _announces_a_call(reply) and not state.memory.corrections:
        return _correct_unread_call(state, reply, notes)
    may_nudge = may_call and state.memory.nudges < state.present.config.nudge_no_tool_calls
    if may_nudge and _has_skipped_tools(state, reply):
        memory = replace(state.memory, nudges=state.memory.nudges + 1)
        return _nudge_to_call(replace(state, memory=memory), reply, "no_tool_calls", notes)
    if may_ask and _is_empty(reply) and state.present.config.fix_empty_final:
        memory = state.memory
        if memory.called and not memory.finalizing:
            return _ask_for_text(state, notes)
        if not memory.called and not memory.asked_again:
            return _ask_after_empty_reply(state, notes, tools_sent=tools_sent)
    outcome, spec = outcome_of(state, reply), state.present.output
    if may_call and isinstance(outcome, Completed) and (check := _check_of_answer(state, reply.content)):
        asking = with_answer(replace(state, memory=check.memory), reply).said(UserMessage(check.question))
        return send_next_request(asking, (*notes, ModelNudged(state.tally.turns, check.why, check.question)))
    if spec is not None and isinstance(outcome, Completed):
        return answer_in_text(state, spec, reply, notes, tools_sent=tools_sent)
    return end_exchange(with_answer(state, reply), outcome, notes)


def final_call_too_early(
    state: State, spec: OutputSpec, calls: tuple[ToolCall, ...], notes: tuple[Note, ...]
) -> Step | None:
    """Nudge a model that gave its final answer by a call, and skipped the tools of an enforced run.

    Or ask what a check asks. Leads to ``AwaitingReply``; ``None`` if the answer is to be judged.
    """
    memory = state.memory
    if exhausted_limit(state) is not None:
        return None
    may_nudge = memory.nudges < state.present.config.nudge_no_tool_calls
    if not may_nudge or not _has_skipped_tools(state, Reply()):
        return _final_call_checked(state, spec, calls, notes)
    names = ", ".join(state.present.tools.names)
    why = f"{_nudge_opening(state, Reply(), 'no_tool_calls')} The tools are: {names}."
    fault = output_too_early(spec.name, f"{why} Call the one that you need now.")
    nudged = replace(state, memory=replace(memory, nudges=memory.nudges + 1))
    told = told_by_calls(nudged, spec, calls, [fault for _ in calls])
    return send_next_request(told, (*notes, ModelNudged(state.tally.turns, "no_tool_calls", fault.message)))


def _final_call_checked(
    state: State, spec: OutputSpec, calls: tuple[ToolCall, ...], notes: tuple[Note, ...]
) -> Step | None:
    """Ask about an answer by a call before it is final; ``None`` if the plan asks nothing more."""
    check = _check_of_answer(state, calls[0].original) if state.present.tools.names else None
    if check is None:
        return None
    fault = output_too_early(spec.name, check.question)
    told = told_by_calls(replace(state, memory=check.memory), spec, calls, [fault for _ in calls])
    return send_next_request(told, (*notes, ModelNudged(state.tally.turns, check.why, fault.message)))


def _check_of_answer(state: State, answer: str) -> Check | None:
    config = state.present.config
    if not config.final_check and not config.claim_check:
        return None
    from toolreel_core._loop.answer_checks import check_of  # noqa: PLC0415 - rarely needed

    return check_of(state, answer)


def _is_repeated_answer(state: State, reply: Reply) -> bool:
    """Whether the model was asked about this text, repeats it, and it is prose without the markup of a call.

    Only after a call has succeeded: before, it is a call that the model can't make in another way.
    """
    if not _is_guess(reply) or not state.memory.corrections or not state.memory.successes:
        return False
    said = next((one for one in reversed(state.messages.messages) if isinstance(one, AssistantMessage)), None)
    if said is None or said.content != reply.content:
        return False
    from toolreel_core._text_calls import LABELS, looks_like_a_call  # noqa: PLC0415 - rarely needed

    if looks_like_a_call(reply.content, ()):
        return False
    words = {word.lower() for word in _WORD.findall(_OBJECT.sub(" ", reply.content))}
    return len(words - LABELS - {*state.present.tools.names}) >= _PROSE


def _correct_unread_call(state: State, reply: Reply, notes: tuple[Note, ...]) -> Step:
    memory = replace(state.memory, corrections=state.memory.corrections + 1)
    return _nudge_to_call(replace(state, memory=memory), reply, "text_call_rejected", notes)


def _finish_unread_call(state: State, reply: Reply, notes: tuple[Note, ...]) -> Step:
    """End the run with ``invalid_reply``: a reply with an unparsed call is not a final answer."""
    problem = reply.problem or Problem(_MALFORMED, reply.content)
    return settle(with_answer(state, reply), outcome_of(state, replace(reply, problem=problem)), notes)


def _has_unread_call(reply: Reply, plan: Plan) -> bool:
    """Whether the text is a call that was not read or of a built-in tool, or, with tools, looks like one."""
    code = "" if reply.problem is None else reply.problem.code
    may_be_answer = plan.config.accept_suspected_calls or not plan.callable_tools.names
    unread = _BROKEN if may_be_answer else _WRITTEN
    return code == _MALFORMED or (code in _OPEN and not unread.isdisjoint(reply.warnings))


def _announces_a_call(reply: Reply) -> bool:
    """Whether the finish reason says that there is a call, and there is none (vllm-project/vllm#53255)."""
    return "FINISH_MISMATCH" in reply.warnings and reply.problem is None and not reply.calls


def _has_skipped_tools(state: State, reply: Reply) -> bool:
    enforced = state.present.config.tool_use_mode == "enforced"
    return enforced and not state.memory.successes and (reply.problem is None or _is_empty(reply))


def _nudge_to_call(state: State, reply: Reply, why: _Skipped, notes: tuple[Note, ...]) -> Step:
    tools = state.present.tools if why == "no_tool_calls" else state.present.callable_tools
    names = ", ".join(tools.names)
    text = f"{_nudge_opening(state, reply, why)} The tools are: {names}. {_nudge_request(reply, why)}"
    if state.present.config.restate_task:
        text = f"{text}\n{restatement(state)}"
    asking = with_answer(state, reply).said(UserMessage(text))
    return send_next_request(asking, (*notes, ModelNudged(state.tally.turns, why, text)))


def _nudge_opening(state: State, reply: Reply, why: _Skipped) -> str:
    match why:
        case "no_tool_calls":
            return (
                "No tool call has succeeded yet."
                if state.memory.called
                else "You have not called a tool yet."
            )
        case "text_call_rejected":
            return f"{_unread_call_reason(reply)}, and nothing was run."
        case _:
            assert_never(why)


def _nudge_request(reply: Reply, why: _Skipped) -> str:
    if why == "text_call_rejected" and _is_guess(reply):
        return (
            "If you need one, make a tool call; if this was your answer, put such markup into a code block."
        )
    return "Call the one that you need now."


def _is_guess(reply: Reply) -> bool:
    """Whether nothing but a suspicion says that the text is a call, so that it may be an answer after all."""
    doubtful = _SUSPECTED in reply.warnings or _announces_a_call(reply)
    return doubtful and _BROKEN.isdisjoint(reply.warnings) and reply.problem is None


def _unread_call_reason(reply: Reply) -> str:
    if _announces_a_call(reply) and _WRITTEN.isdisjoint(reply.warnings):
        return "Your reply ended as if with a tool call, but there is none in it"
    if _is_guess(reply):
        return "Your reply looks like a tool call written as text"
    if _TRUNCATED in reply.warnings:
        return "Your tool call was cut"
    unread = _UNREAD in reply.warnings or _FOREIGN not in reply.warnings
    return f"Your tool call {'could not be read' if unread else 'was for a tool that is not here'}"


def _is_empty(reply: Reply) -> bool:
    return reply.problem is not None and reply.problem.code == "EMPTY_RESPONSE"


def _ask_for_text(state: State, notes: tuple[Note, ...]) -> Step:
    config, spec = state.present.config, state.present.output
    text = config.fix_empty_final_text
    if spec is not None and text == DEFAULT_FINAL_TEXT:  # a plan's output has a sentence of its own
        text = f"Give your final answer now. {request_for(spec, asked_by(state))}"
    asking = replace(state, memory=replace(state.memory, finalizing=True)).said(UserMessage(text))
    tools = not config.fix_empty_final_disable_tools
    return send_next_request(asking, (*notes, RecoveryTried(state.tally.turns, tools)), tools=tools)


def _ask_after_empty_reply(state: State, notes: tuple[Note, ...], *, tools_sent: bool) -> Step:
    """After an empty first reply: the model has not used its tools yet, so it keeps them."""
    spec = state.present.output
    answer = "Answer in words." if spec is None else request_for(spec, asked_by(state))
    wanted = f"Call the tool that you need, or {answer[0].lower()}{answer[1:]}" if tools_sent else answer
    memory = replace(state.memory, asked_again=True)
    asking = replace(state, memory=memory).said(UserMessage(f"Your reply was empty. {wanted}"))
    return send_next_request(asking, (*notes, RecoveryTried(state.tally.turns, tools_sent)), tools=tools_sent)
