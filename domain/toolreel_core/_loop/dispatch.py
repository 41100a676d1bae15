"""From a checked call to the effect that runs it: the tool's inner name, and the call's key."""

from __future__ import annotations

from typing import Final

from toolreel_core._internal.frozen import maker
from toolreel_core._jsontext.canonical import JsonText
from toolreel_core._jsontext.digest import known_chain, known_digest, link
from toolreel_core._protocol.effects import AskApproval, RunTool
from toolreel_core._protocol.state import State
from toolreel_core._replies.calls.tool_call import ToolCall

__all__ = ["ask_approval", "call_key", "run_tool"]


_run_tool: Final = maker(RunTool)


def run_tool(state: State, ref: int, call: ToolCall, arguments: JsonText) -> RunTool:
    """The effect that runs a call of the present turn."""
    name = state.plan.tools.inner(call.name)
    return _run_tool(ref, call.id, name, arguments, call_key(state, call), state.tally.turns)


def ask_approval(state: State, ref: int, call: ToolCall, arguments: JsonText) -> AskApproval:
    """The effect that asks whether a call of the present turn may run."""
    return AskApproval(ref, call.id, state.plan.tools.inner(call.name), arguments)


def call_key(state: State, call: ToolCall) -> str:
    """What names a call for ever: it depends on the plan, the turn and the place of the call in it alone.

    The same run, replayed, resumed or done anew, gives the same keys; to have a tool act once more, make
    a plan with another seed.
    """
    turn, place = known_digest(str(state.tally.turns)), known_digest(_place(state, call))
    return link(link(known_chain("call", state.plan.digest), turn), place)


def _place(state: State, call: ToolCall) -> str:
    """The index of the call in what the model said last; a call that does not stand there has only its id."""
    ids = [sent.id for sent in state.messages.projection.called]
    return str(ids.index(call.id)) if call.id in ids else call.id
