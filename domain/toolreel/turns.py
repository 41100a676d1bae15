"""A request came back: tool calls, a final answer, or a failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, assert_never

from toolreel.arguments import ArgumentError
from toolreel.calls import ToolCall
from toolreel.events import ReplyReceived, RequestFailed
from toolreel.jsontext import JsonText, read
from toolreel.messages import AssistantMessage, SentCall
from toolreel.notes import ContentStripped, Note, RepairApplied, ReplyRead, RequestLost
from toolreel.outcome import TransportFailed
from toolreel.reply import Reply, normalize_reply
from toolreel.results import run_calls
from toolreel.settle import outcome_of, settle
from toolreel.state import State, Step

__all__ = ["reply_received", "request_failed"]

_SAMPLE: Final = 200
_CUT: Final = ArgumentError("ARGUMENTS_TRUNCATED")


def reply_received(state: State, event: ReplyReceived) -> Step:
    """Read the reply.

    With calls, it leads to running them; without, to ``Settled``.
    """
    plan = state.plan
    reply = normalize_reply(event.body, tools=plan.tools, config=plan.config, turn=state.tally.turns)
    counted = replace(state, tally=state.tally.read(reply.usage))
    notes = _notes(state.tally.turns, reply)
    if reply.calls:
        calls = _whole(reply)
        return run_calls(counted.said(_with_calls(calls)), calls, notes)
    if reply.content:
        counted = counted.said(AssistantMessage(reply.content))
    return settle(counted, outcome_of(reply), notes)


def request_failed(state: State, event: RequestFailed) -> Step:
    """No reply: the run ends, and says why. Leads to ``Settled`` with ``transport``."""
    lost = RequestLost(state.tally.turns, event.failure, event.status)
    return settle(state, TransportFailed(event.failure, event.status, event.message), (lost,))


def _notes(turn: int, reply: Reply) -> tuple[Note, ...]:
    usage = reply.usage
    read_ = ReplyRead(turn, reply.finish, len(reply.calls), usage.prompt_tokens, usage.completion_tokens)
    repairs = tuple(RepairApplied(turn, code) for code in reply.warnings)
    if not reply.calls or not reply.content:
        return (read_, *repairs)
    return (read_, *repairs, ContentStripped(turn, len(reply.content), reply.content[:_SAMPLE]))


def _whole(reply: Reply) -> tuple[ToolCall, ...]:
    """The calls, none of which may run if the reply was cut: even closed JSON may be half a thought."""
    if reply.finish != "length":
        return reply.calls
    return tuple(replace(call, arguments=_CUT) for call in reply.calls)


def _with_calls(calls: tuple[ToolCall, ...]) -> AssistantMessage:
    """The assistant message that goes back: calls only, so that no text bleeds into later turns."""
    return AssistantMessage("", tuple(SentCall(call.id, call.name, _sendable(call)) for call in calls))


def _sendable(call: ToolCall) -> str:
    """The model's own text where it is a JSON object, since some providers refuse a re-encoded one.

    Arguments that could not be read are never sent back raw: llama.cpp answers 500 to them
    (ggml-org/llama.cpp#25510). The tool message says what was wrong with them.
    """
    match call.arguments:
        case ArgumentError():
            return "{}"
        case JsonText() as arguments:
            own = read(call.original).map(lambda tree: isinstance(tree, dict)).value_or(False)
            return call.original if own and not call.provenance.startswith("text:") else arguments
        case _:
            assert_never(call.arguments)
