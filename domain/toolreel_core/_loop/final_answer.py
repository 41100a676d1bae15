"""A reply without tool calls: end the run, or ask the model again.

The model is asked again for three reasons: it wrote what is or looks like a call and could not be read, it
skipped its tools in an enforced run (a nudge), or it said nothing at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from toolreel_core._conversation import AssistantMessage, UserMessage
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop.budgets import exhausted_limit
from toolreel_core._loop.checks.restatement import restatement
from toolreel_core._loop.conversation import end_exchange
from toolreel_core._loop.final_output import answer_in_text, asked_by, is_asked_for, told_by_calls
from toolreel_core._loop.finish import outcome_of, settle, with_answer
from toolreel_core._loop.next_request import send_next_request
from toolreel_core._plan import OutputSpec, Plan, request_for
from toolreel_core._protocol import Completed, ModelNudged, Note, RecoveryTried, State, Step
from toolreel_core._replies import Problem, ProblemCode, Reply, ToolCall
from toolreel_core._settings import DEFAULT_FINAL_TEXT
from toolreel_core._text_calls import LABELS, looks_like_a_call
from toolreel_core._tools import output_too_early

_OBJECT: Final = lazy_pattern(r"\{[^{}]*+\}|\([^()]*+\)")
_WORD: Final = lazy_pattern(r"[^\W\d]\w*+")
_PROSE: Final = 3
"""Different words outside of arguments that make a text an answer in words."""

if TYPE_CHECKING:
    from toolreel_core._loop.checks.answer_checks import Check

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
            return _correct(state, reply, notes)
        return _finish_unread_call(state, reply, notes)
    if may_call and _announces_a_call(reply) and not state.memory.corrections:
        return _correct(state, reply, notes)
    may_nudge = may_call and state.memory.nudges < state.present.config.nudge_no_tool_calls
    if may_nudge and _skipped_tools(state, reply):
        memory = replace(state.memory, nudges=state.memory.nudges + 1)
        return _nudge(replace(state, memory=memory), reply, "no_tool_calls", notes)
    if may_ask and _is_empty(reply) and state.present.config.fix_empty_final:
        memory = state.memory
        if memory.called and not memory.finalizing:
            return _ask_for_text(state, notes)
        if not memory.called and not memory.asked_again:
            return _ask_again(state, notes, tools_sent=tools_sent)
    outcome, spec = outcome_of(state, reply), state.present.output
    if may_call and isinstance(outcome, Completed) and (check := _check_of(state, reply.content)):
        asking = with_answer(replace(state, memory=check.memory), reply).said(UserMessage(check.question))
        return send_next_request(asking, (*notes, ModelNudged(state.tally.turns, check.why)))
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
    if not may_nudge or not _skipped_tools(state, Reply()):
        return _final_call_checked(state, spec, calls, notes)
    names = ", ".join(state.present.tools.names)
    why = f"{_nudge_opening(state, Reply(), 'no_tool_calls')} The tools are: {names}."
    fault = output_too_early(spec.name, f"{why} Call the one that you need now.")
    nudged = replace(state, memory=replace(memory, nudges=memory.nudges + 1))
    told = told_by_calls(nudged, spec, calls, [fault for _ in calls])
    return send_next_request(told, (*notes, ModelNudged(state.tally.turns, "no_tool_calls")))


def _final_call_checked(
    state: State, spec: OutputSpec, calls: tuple[ToolCall, ...], notes: tuple[Note, ...]
) -> Step | None:
    """Ask about an answer by a call before it is final; ``None`` if the plan asks nothing more."""
    check = _check_of(state, calls[0].original) if state.present.tools.names else None
    if check is None:
        return None
    fault = output_too_early(spec.name, check.question)
    told = told_by_calls(replace(state, memory=check.memory), spec, calls, [fault for _ in calls])
    return send_next_request(told, (*notes, ModelNudged(state.tally.turns, check.why)))


def _check_of(state: State, answer: str) -> Check | None:
    config = state.present.config
    if not config.final_check and not config.claim_check:
        return None
    from toolreel_core._loop.checks.answer_checks import check_of  # noqa: PLC0415 - rarely needed

    return check_of(state, answer)


def _is_repeated_answer(state: State, reply: Reply) -> bool:
    """Whether the model was asked about this text, repeats it, and it is prose without the markup of a call.

    Only after a call has succeeded: before, it is a call that the model can't make in another way.
    """
    if not _is_guess(reply) or not state.memory.corrections or not state.memory.successes:
        return False
    said = next((one for one in reversed(state.messages.messages) if isinstance(one, AssistantMessage)), None)
    if said is None or said.content != reply.content or looks_like_a_call(reply.content, ()):
        return False
    words = {word.lower() for word in _WORD.findall(_OBJECT.sub(" ", reply.content))}
    return len(words - LABELS - {*state.present.tools.names}) >= _PROSE


def _correct(state: State, reply: Reply, notes: tuple[Note, ...]) -> Step:
    memory = replace(state.memory, corrections=state.memory.corrections + 1)
    return _nudge(replace(state, memory=memory), reply, "text_call_rejected", notes)


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


def _skipped_tools(state: State, reply: Reply) -> bool:
    enforced = state.present.config.tool_use_mode == "enforced"
    return enforced and not state.memory.successes and (reply.problem is None or _is_empty(reply))


def _nudge(state: State, reply: Reply, why: _Skipped, notes: tuple[Note, ...]) -> Step:
    tools = state.present.tools if why == "no_tool_calls" else state.present.callable_tools
    names = ", ".join(tools.names)
    text = f"{_nudge_opening(state, reply, why)} The tools are: {names}. {_nudge_request(reply, why)}"
    if state.present.config.restate_task:
        text = f"{text}\n{restatement(state)}"
    asking = with_answer(state, reply).said(UserMessage(text))
    return send_next_request(asking, (*notes, ModelNudged(state.tally.turns, why)))


def _nudge_opening(state: State, reply: Reply, why: _Skipped) -> str:
    match why:
        case "no_tool_calls":
            return (
                "No tool call has succeeded yet."
                if state.memory.called
                else "You have not called a tool yet."
            )
        case "text_call_rejected":
            return f"{_what_went_wrong(reply)}, and nothing was run."
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


def _what_went_wrong(reply: Reply) -> str:
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


def _ask_again(state: State, notes: tuple[Note, ...], *, tools_sent: bool) -> Step:
    """After an empty first reply: the model has not used its tools yet, so it keeps them."""
    spec = state.present.output
    answer = "Answer in words." if spec is None else request_for(spec, asked_by(state))
    wanted = f"Call the tool that you need, or {answer[0].lower()}{answer[1:]}" if tools_sent else answer
    memory = replace(state.memory, asked_again=True)
    asking = replace(state, memory=memory).said(UserMessage(f"Your reply was empty. {wanted}"))
    return send_next_request(asking, (*notes, RecoveryTried(state.tally.turns, tools_sent)), tools=tools_sent)
