"""The final answer: checked, and fitted to the output of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from toolreel_core._conversation import AssistantMessage, ToolMessage, UserMessage
from toolreel_core._jsontext import NOTHING, JsonText, canonical, read_json, value_or_failure
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop.finish import (
    exhausted_limit,
    outcome_of_reply,
    settle,
    with_notes,
    with_reply_stored,
)
from toolreel_core._loop.next_request import end_exchange, may_call_tools, send_next_request, task_restatement
from toolreel_core._loop.tool_calls import argument_error_fault, coerced_arguments
from toolreel_core._plan import AskedBy, OutputSpec, Plan, answer_request_sentence
from toolreel_core._protocol import (
    Completed,
    InvalidOutput,
    ModelNudged,
    OutputCalled,
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
    Reply,
    ToolCall,
)
from toolreel_core._schema import Violation, violations
from toolreel_core._settings import DEFAULT_FINAL_TEXT, LoopConfig
from toolreel_core._tools import (
    Envelope,
    Fault,
    call_abandoned,
    failed_envelope,
    output_too_early,
    schema_violation_fault,
)

if TYPE_CHECKING:
    from toolreel_core._replies import Answers

# Judge a final answer that has to fit the plan's output: take it, ask again, or give up.
#
# An answer that fits the schema as it stands is taken as it stands; the coercions of tool arguments are tried
# only on one that does not. The model is asked again at most ``output_retries`` times in a run, whichever way
# it answers. A call of the final tool gets a result, like any call: providers reject a history without.


class Accepted(NamedTuple):
    value: JsonText
    codes: tuple[str, ...] = ()


def _judge_text_answer(plan: Plan, spec: OutputSpec, text: str) -> Accepted | str:
    """The judgement of an answer in text: its value, or what is wrong with it in one sentence or two."""
    found = _json_answers(plan, text)
    accepted, broken = list[Accepted](), list[tuple[Violation, ...]]()
    for reading in found.readings:
        may_be_bare = found.whole or isinstance(reading.tree, Mapping | list)
        fit = _check_against_schema(spec, plan.config, canonical(reading.tree), may_be_bare)
        if isinstance(fit, Accepted):
            accepted.append(Accepted(fit.value, (*reading.codes, *fit.codes)))
        else:
            broken.append(fit)
    values = len({one.value for one in accepted})
    if values == 1:
        return accepted[0]
    if values:
        return f"Your answer holds {values} different JSON values that fit."
    if not broken:
        return f"Your answer is not valid JSON: {found.why}."
    # The empty pointer is the answer, which has no arguments.
    places = [(one.pointer or "your answer", one) for one in broken[-1]]
    return f"{'; '.join(f'{place}: expected {one.expected}, got {one.got}' for place, one in places)}."


def _judge_final_call(plan: Plan, spec: OutputSpec, call: ToolCall) -> Accepted | Fault:
    config, arguments = plan.config, call.arguments
    error = arguments if isinstance(arguments, ArgumentError) else None
    texts = [] if isinstance(arguments, ArgumentError) else [(arguments, False)]
    if error is None or error.code != "ARGUMENTS_TRUNCATED":
        # The arguments may be the value itself, without the object around it that was asked for.
        found = read_json(call.original, max_depth=config.max_argument_depth, unique_keys=True)
        texts += (
            [(text, True)] if isinstance(text := value_or_failure(found.map(canonical)), JsonText) else []
        )
    fits = [_check_against_schema(spec, config, text, may_be_bare) for text, may_be_bare in texts]
    for fit in fits:
        if isinstance(fit, Accepted):
            return fit
    if error is not None:
        return argument_error_fault(spec.name, error, plan)
    # Without an error the arguments could be read, so the first judgement is about them.
    return schema_violation_fault(spec.name, cast("tuple[Violation, ...]", fits[0]))


def is_requested_output(plan: Plan, text: str) -> bool:
    """Whether a text is, as a whole, the JSON object that was asked for."""
    # Its keys have to be declared: a schema that takes any object would also take the JSON of a call. A call
    # of the final tool, which is never run, is an answer in any notation.
    spec = plan.output
    if spec is None:
        return False
    found = _json_answers(plan, text)
    tree = found.readings[0].tree if found.whole else None
    if not isinstance(tree, Mapping) or not tree:
        return False
    meant = tree.keys() <= spec.keys or (plan.asked_by == "tool" and tree.get("name") == spec.name)
    return meant and isinstance(_check_against_schema(spec, plan.config, canonical(tree), True), Accepted)


def _json_answers(plan: Plan, text: str) -> Answers:
    from toolreel_core._replies import json_answers_in_text  # noqa: PLC0415 - few runs have an output

    config = plan.config
    return json_answers_in_text(text, max_depth=config.max_argument_depth, repairs=config.argument_repairs)


def _check_against_schema(
    spec: OutputSpec, config: LoopConfig, text: JsonText, may_be_bare: bool
) -> Accepted | tuple[Violation, ...]:
    """The value that fits, or what does not fit.

    :param may_be_bare: whether the text may be the value itself, without the object around it
    """
    found = violations(spec.sent, text)
    if not found:
        return Accepted(spec.value_of(text))
    if text.startswith("{"):
        intended = coerced_arguments(spec.sent, (spec.name,), text, config)
        if not intended.doubt:
            found = violations(spec.sent, intended.arguments)
            if not found:
                return Accepted(spec.value_of(intended.arguments), intended.codes)
    if may_be_bare and spec.wrapped and config.argument_repairs != "strict":
        return found if violations(spec.schema, text) else Accepted(text, ("OUTPUT_BARE",))
    return found


def _answer_mode(state: State) -> AskedBy:
    """How the answer is asked for now: in text, once the server has rejected tools."""
    mode = state.present.asked_by or "text"
    return "text" if mode == "tool" and state.memory.tools_dropped else mode


def _judge_reply_without_calls(state: State, spec: OutputSpec, reply: Reply) -> Step:
    """Judge a reply without calls. Leads to ``Settled`` or ``AwaitingReply``."""
    judgement, said = _judge_text_answer(state.present, spec, reply.content), with_reply_stored(state, reply)
    if isinstance(judgement, Accepted):
        outcome = Completed(reply.content, judgement.value)
        return end_exchange(with_notes(said, *_output_repair_notes(state, judgement)), outcome)
    told = said.said(UserMessage(f"{judgement} {answer_request_sentence(spec, _answer_mode(state))}"))
    rejected = InvalidOutput(reply.content, judgement)
    return _ask_again_or_end(said, told, rejected)


def finish_with_final_calls(state: State, spec: OutputSpec, calls: tuple[ToolCall, ...]) -> Step:
    """Judge a reply whose calls, which are in the history, are all of the final tool.

    Leads to ``Settled`` or ``AwaitingReply``. The first call that fits is the answer. In an enforced run
    whose tools have not done what they must, the model is nudged, and then the outcome says so, whatever the
    answer is.
    """
    state = with_notes(state, OutputCalled(state.tally.turns, len(calls)))
    abandoned = call_abandoned(spec.name)
    # Reply() has no problem: whether to nudge depends on the tools that have run, not on this answer.
    if may_call_tools(state) and exhausted_limit(state) is None and _may_nudge(state, Reply()):
        names = ", ".join(state.present.tools.names)
        why = f"{_nudge_opening(state, Reply(), 'no_tool_calls')} The tools are: {names}."
        fault = output_too_early(spec.name, f"{why} Call the one that you need now.")
        told = _with_final_call_results(
            state.remembering(nudges=state.memory.nudges + 1), spec, calls, [fault for _ in calls]
        )
        note = ModelNudged(state.tally.turns, "no_tool_calls", fault.message)
        return send_next_request(with_notes(told, note))
    unmet = outcome_of_reply(state, Reply(content=calls[0].original))
    if not isinstance(unmet, Completed):
        return settle(_with_final_call_results(state, spec, calls, [abandoned for _ in calls]), unmet)
    judged = [_judge_final_call(state.present, spec, call) for call in calls]
    accepted = next((one for one in judged if isinstance(one, Accepted)), None)
    if accepted is not None:
        results = [None if one is accepted else abandoned for one in judged]
        answered = _with_final_call_results(state, spec, calls, results)
        outcome = Completed(accepted.value, accepted.value)
        return end_exchange(with_notes(answered, *_output_repair_notes(state, accepted)), outcome)
    faults = [one for one in judged if isinstance(one, Fault)]
    told = _with_final_call_results(state, spec, calls, faults)
    return _ask_again_or_end(told, told, InvalidOutput(calls[0].original, faults[0].message))


def _with_final_call_results(
    state: State, spec: OutputSpec, calls: Sequence[ToolCall], faults: Sequence[Fault | None]
) -> State:
    taken = Envelope(True, spec.name, NOTHING)
    results = [taken if fault is None else failed_envelope(spec.name, fault) for fault in faults]
    pairs = zip(calls, results, strict=True)
    return state.said(*[ToolMessage(call.id, result.text()) for call, result in pairs])


def _ask_again_or_end(state: State, told: State, outcome: InvalidOutput) -> Step:
    """Ask for a valid output again, or end the run after ``output_retries``.

    :param told: the state in whose history the model reads what is wrong
    """
    rejected = state.memory.outputs_rejected
    again = rejected < state.present.config.output_retries and exhausted_limit(state) is None
    note = OutputRejected(state.tally.turns, outcome.error, again)
    if not again:
        return settle(with_notes(state, note), outcome)
    asking = with_notes(told.remembering(outputs_rejected=rejected + 1), note)
    return send_next_request(asking, tools=may_call_tools(state))


def _output_repair_notes(state: State, accepted: Accepted) -> tuple[RepairApplied, ...]:
    return tuple(RepairApplied(state.tally.turns, code) for code in dict.fromkeys(accepted.codes))


# A reply without tool calls: end the run, or ask the model again.
#
# The model is asked again for three reasons: it wrote what is or looks like a call and could not be read, it
# skipped its tools in an enforced run (a nudge), or it said nothing at all.


# Arguments as JSON or in parentheses; of nested ones, the innermost. Their words are not prose.
_OBJECT = lazy_pattern(r"\{[^{}]*+\}|\([^()]*+\)")
_PROSE = 3
"""Different words outside of arguments that make a text an answer in words."""

_Skipped: TypeAlias = Literal["no_tool_calls", "text_call_rejected"]

_TRUNCATED = "TEXT_CALL_TRUNCATED"
_MALFORMED: ProblemCode = "MALFORMED_FUNCTION_CALL"
_UNREAD = "TEXT_CALL_MALFORMED"
_FOREIGN = "TEXT_CALL_BUILTIN"
_SUSPECTED = "TEXT_CALL_SUSPECTED"
_BROKEN = frozenset({_UNREAD, _TRUNCATED, _FOREIGN})
_WRITTEN = _BROKEN | {_SUSPECTED}
_OPEN = frozenset({"", "TRUNCATED", "EMPTY_RESPONSE"})
"""Problems that do not rule out that the reply was meant to be a call; a refusal, for example, does."""


def finish_or_ask_again(state: State, reply: Reply) -> Step:
    """End the run, or ask the model again.

    Leads to ``Settled`` or ``AwaitingReply``, also if the user spoke while the answer was made.
    If the turns or a budget are used up, the reply is final.
    """
    # The order matters: an unparsed call must never count as an answer, and an enforced run asks for tools
    # before it asks for a text.
    config, memory = state.present.config, state.memory
    may_ask = exhausted_limit(state) is None
    may_call = may_ask and may_call_tools(state) and bool(state.present.callable_tools.names)
    # The request for a text after an empty one goes without tools; a call in its reply is no answer either.
    offered = may_call_tools(state) or memory.finalizing
    is_answer = reply.problem is None and is_requested_output(state.present, reply.content)
    is_unread = offered and not is_answer and has_unread_call(reply, state.present)
    if is_unread and _is_repeated_answer(state, reply):
        return end_exchange(with_reply_stored(state, reply), outcome_of_reply(state, reply))
    # One correction is allowed even without nudges: the error is new information for the model.
    most = max(1, config.nudge_no_tool_calls) if is_unread else 1
    if may_call and (is_unread or _announces_missing_call(reply)) and memory.corrections < most:
        corrected = state.remembering(corrections=memory.corrections + 1)
        return _nudge_to_call(corrected, reply, "text_call_rejected")
    if is_unread:
        # A reply with an unparsed call is not a final answer.
        problem = reply.problem or Problem(_MALFORMED, reply.content)
        return settle(
            with_reply_stored(state, reply), outcome_of_reply(state, replace(reply, problem=problem))
        )
    if may_call and _may_nudge(state, reply):
        return _nudge_to_call(state.remembering(nudges=memory.nudges + 1), reply, "no_tool_calls")
    if may_ask and is_empty_reply(reply) and config.fix_empty_final:
        if memory.called and not memory.finalizing:
            return _ask_after_empty_reply(state, tools=not config.fix_empty_final_disable_tools)
        if not memory.called and not memory.asked_again:
            # The model has not used its tools yet, so it keeps them.
            return _ask_after_empty_reply(state, tools=may_call_tools(state))
    outcome, spec = outcome_of_reply(state, reply), state.present.output
    if spec is not None and isinstance(outcome, Completed):
        return _judge_reply_without_calls(state, spec, reply)
    return end_exchange(with_reply_stored(state, reply), outcome)


def _may_nudge(state: State, reply: Reply) -> bool:
    """Whether the model has skipped the tools of an enforced run, and may be told so."""
    config, memory = state.present.config, state.memory
    skipped = config.tool_use_mode == "enforced" and not memory.successes
    return (
        skipped
        and memory.nudges < config.nudge_no_tool_calls
        and (not reply.problem or is_empty_reply(reply))
    )


def _is_repeated_answer(state: State, reply: Reply) -> bool:
    """Whether the model was asked about this prose, without the markup of a call, and repeats it."""
    # Only after a call has succeeded: before, it is a call that the model can't make in another way.
    if not _is_only_suspected_call(reply) or not state.memory.corrections or not state.memory.successes:
        return False
    said = next((one for one in reversed(state.messages.messages) if isinstance(one, AssistantMessage)), None)
    if said is None or said.content != reply.content:
        return False
    from toolreel_core._text_calls import looks_like_a_call, words_without_labels  # noqa: PLC0415 - rarely needed

    if looks_like_a_call(reply.content, ()):
        return False
    words = words_without_labels(_OBJECT.sub(" ", reply.content))
    return len({*words} - {*state.present.tools.names}) >= _PROSE


def has_unread_call(reply: Reply, plan: Plan) -> bool:
    """Whether the text is a call that was not read or of a built-in tool, or, with tools, looks like one."""
    code = "" if reply.problem is None else reply.problem.code
    may_be_answer = plan.config.accept_suspected_calls or not plan.callable_tools.names
    unread = _BROKEN if may_be_answer else _WRITTEN
    return code == _MALFORMED or (code in _OPEN and not unread.isdisjoint(reply.warnings))


def _announces_missing_call(reply: Reply) -> bool:
    """Whether the finish reason says that there is a call, and there is none (vllm-project/vllm#53255)."""
    return "FINISH_MISMATCH" in reply.warnings and reply.problem is None and not reply.calls


def _nudge_to_call(state: State, reply: Reply, why: _Skipped) -> Step:
    tools = state.present.tools if why == "no_tool_calls" else state.present.callable_tools
    wanted = "Call the one that you need now."
    if why == "text_call_rejected" and _is_only_suspected_call(reply):
        wanted = (
            "If you need one, make a tool call; if this was your answer, put such markup into a code block."
        )
    text = f"{_nudge_opening(state, reply, why)} The tools are: {', '.join(tools.names)}. {wanted}"
    if state.present.config.restate_task:
        text = f"{text}\n{task_restatement(state)}"
    asking = with_reply_stored(state, reply).said(UserMessage(text))
    return send_next_request(with_notes(asking, ModelNudged(state.tally.turns, why, text)))


def _nudge_opening(state: State, reply: Reply, why: _Skipped) -> str:
    if why == "no_tool_calls":
        called = state.memory.called
        return "No tool call has succeeded yet." if called else "You have not called a tool yet."
    if _announces_missing_call(reply) and _WRITTEN.isdisjoint(reply.warnings):
        fault = "Your reply ended as if with a tool call, but there is none in it"
    elif _is_only_suspected_call(reply):
        fault = "Your reply looks like a tool call written as text"
    elif _TRUNCATED in reply.warnings:
        fault = "Your tool call was cut"
    elif _UNREAD in reply.warnings or _FOREIGN not in reply.warnings:
        fault = "Your tool call could not be read"
    else:
        fault = "Your tool call was for a tool that is not here"
    return f"{fault}, and nothing was run."


def _is_only_suspected_call(reply: Reply) -> bool:
    """Whether nothing but a suspicion says that the text is a call, so that it may be an answer after all."""
    doubtful = _SUSPECTED in reply.warnings or _announces_missing_call(reply)
    return doubtful and _BROKEN.isdisjoint(reply.warnings) and reply.problem is None


def is_empty_reply(reply: Reply) -> bool:
    return reply.problem is not None and reply.problem.code == "EMPTY_RESPONSE"


def _ask_after_empty_reply(state: State, *, tools: bool) -> Step:
    """Ask for a text after calls; after an empty first reply, for whatever was meant."""
    spec, text = state.present.output, state.present.config.fix_empty_final_text
    answer = "Answer in words." if spec is None else answer_request_sentence(spec, _answer_mode(state))
    if not state.memory.called:
        state, text = state.remembering(asked_again=True), f"Your reply was empty. {answer}"
        if tools:
            text = f"Your reply was empty. Call the tool that you need, or {answer[0].lower()}{answer[1:]}"
    else:
        state = state.remembering(finalizing=True)
        if spec is not None and text == DEFAULT_FINAL_TEXT:  # a plan's output has a sentence of its own
            text = f"Give your final answer now. {answer}"
    asking = with_notes(state.said(UserMessage(text)), RecoveryTried(state.tally.turns, tools))
    return send_next_request(asking, tools=tools)
