"""Take a final answer that fits the plan's output, ask again for one that does not, or give up.

The model is asked again at most ``output_retries`` times in a run, whichever way it answers. A call of the
final tool gets a result, like any call: providers reject a history without.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from toolreel_core._conversation import ToolMessage, UserMessage
from toolreel_core._jsontext import NOTHING
from toolreel_core._loop.budgets import exhausted_limit
from toolreel_core._loop.conversation import end_exchange
from toolreel_core._loop.finish import outcome_of, settle, with_answer
from toolreel_core._loop.next_request import send_next_request
from toolreel_core._loop.output.judgement import Accepted, Rejected, judged_call, judged_text
from toolreel_core._plan import AskedBy, OutputSpec, request_for
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
from toolreel_core._replies import Reply, ToolCall
from toolreel_core._tools import Envelope, Fault, call_abandoned, failed


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
        return settle(_unanswered(state, calls), unmet, notes)
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


def _unanswered(state: State, calls: tuple[ToolCall, ...]) -> State:
    return state.said(
        *(ToolMessage(call.id, failed(call.name, call_abandoned(call.name)).text()) for call in calls)
    )


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
