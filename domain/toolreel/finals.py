"""A reply without calls: the end, or a reason to ask once more."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, assert_never

from toolreel.asking import ask
from toolreel.limits import used_up
from toolreel.messages import AssistantMessage, UserMessage
from toolreel.notes import ModelNudged, Note, NudgeReason, RecoveryTried
from toolreel.reply import Reply
from toolreel.settle import outcome_of, settle
from toolreel.state import State, Step

__all__ = ["final_reply"]

_CUT: Final = "TEXT_CALL_TRUNCATED"
_BROKEN: Final = frozenset({"TEXT_CALL_MALFORMED", _CUT})


def final_reply(state: State, reply: Reply, notes: tuple[Note, ...], *, tools_sent: bool) -> Step:
    """End the run, or ask again where the model skipped its tools or said nothing after them.

    Leads to ``Settled`` or ``AwaitingReply``. Where no turn or budget is left for another question,
    the reply is judged as it is.

    :param tools_sent: whether the model could call tools
    """
    may_ask = used_up(state) is None
    may_nudge = may_ask and tools_sent and _may_nudge(state)
    if may_nudge and _garbled(reply):
        return _nudged(state, reply, "text_call_rejected", notes)
    if may_nudge and _skipped_tools(state, reply):
        return _nudged(state, reply, "no_tool_calls", notes)
    if may_ask and _silent(reply) and _may_recover(state):
        return _recovered(state, notes)
    return settle(_said(state, reply), outcome_of(state, reply), notes)


def _said(state: State, reply: Reply) -> State:
    """An empty message is never written down: DeepSeek and Mistral refuse a history that holds one."""
    return state.said(AssistantMessage(reply.content)) if reply.content else state


def _garbled(reply: Reply) -> bool:
    judged = reply.problem is not None and reply.problem.code != "TRUNCATED"
    return not judged and not _BROKEN.isdisjoint(reply.warnings)


def _skipped_tools(state: State, reply: Reply) -> bool:
    enforced = state.plan.config.tool_use_mode == "enforced"
    return enforced and not state.memory.successes and (reply.problem is None or _silent(reply))


def _may_nudge(state: State) -> bool:
    names, nudges = state.plan.tools.names, state.memory.nudges
    return bool(names) and nudges < state.plan.config.nudge_no_tool_calls


def _nudged(state: State, reply: Reply, why: NudgeReason, notes: tuple[Note, ...]) -> Step:
    names = ", ".join(state.plan.tools.names)
    text = f"{_reproach(state, reply, why)} The tools are: {names}. Call the one that you need now."
    memory = replace(state.memory, nudges=state.memory.nudges + 1)
    asked = replace(_said(state, reply), memory=memory).said(UserMessage(text))
    return ask(asked, (*notes, ModelNudged(state.tally.turns, why)))


def _reproach(state: State, reply: Reply, why: NudgeReason) -> str:
    match why:
        case "no_tool_calls":
            return (
                "No tool call has succeeded yet."
                if state.memory.called
                else "You have not called a tool yet."
            )
        case "text_call_rejected":
            what = "was cut" if _CUT in reply.warnings else "could not be read"
            return f"Your tool call {what}, and nothing was run."
        case _:
            assert_never(why)


def _silent(reply: Reply) -> bool:
    return reply.problem is not None and reply.problem.code == "EMPTY_RESPONSE"


def _may_recover(state: State) -> bool:
    memory = state.memory
    return state.plan.config.fix_empty_final and bool(memory.called) and not memory.finalizing


def _recovered(state: State, notes: tuple[Note, ...]) -> Step:
    config = state.plan.config
    memory = replace(state.memory, finalizing=True)
    asked = replace(state, memory=memory).said(UserMessage(config.fix_empty_final_text))
    tools = not config.fix_empty_final_disable_tools
    return ask(asked, (*notes, RecoveryTried(state.tally.turns, tools)), tools=tools)
