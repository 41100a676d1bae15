"""Running the calls of a turn, one after another, and writing down what came of each."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from toolreel.admission import admit
from toolreel.asking import ask
from toolreel.calls import ToolCall
from toolreel.effects import RunTool
from toolreel.envelope import Envelope, envelope_of, failed
from toolreel.events import ToolReturned
from toolreel.faults import Fault, call_cancelled
from toolreel.jsontext import JsonText
from toolreel.messages import ToolMessage
from toolreel.notes import CallEnded, CallRejected, CallStarted, Note
from toolreel.state import AwaitingTools, State, Step

__all__ = ["abandon_calls", "run_calls", "tool_returned"]


def run_calls(state: State, calls: tuple[ToolCall, ...], notes: tuple[Note, ...] = ()) -> Step:
    """Start the first call that may run; what may not is answered with its fault.

    Leads to ``AwaitingTools``, or on to the next request when no call is left.
    """
    for index, call in enumerate(calls):
        admission = admit(call, state.plan.tools, state.plan.config)
        match admission:
            case Fault() as fault:
                state = _answered(state, call, failed(call.name, fault))
                rejected = CallRejected(state.tally.turns, call.id, call.name, fault.code, fault.message)
                notes = (*notes, rejected)
            case JsonText() as arguments:
                return _started(state, call, arguments, calls[index + 1 :], notes)
            case _:
                assert_never(admission)
    return ask(state, notes)


def tool_returned(state: State, phase: AwaitingTools, event: ToolReturned) -> Step:
    """Write the result into the history, then go on with the next call or the next request."""
    call = phase.running
    envelope = envelope_of(call.name, event.output, limit=state.plan.config.max_tool_output_bytes)
    codes = tuple(error.code for error in envelope.errors)
    size = len(envelope.text().encode())
    ended = CallEnded(state.tally.turns, call.id, call.name, envelope.ok, codes, size)
    return run_calls(_answered(state, call, envelope), phase.waiting, (ended,))


def abandon_calls(state: State, phase: AwaitingTools) -> State:
    """Answer every open call of the turn, so that the history stays valid for a provider."""
    for call in (phase.running, *phase.waiting):
        state = _answered(state, call, failed(call.name, call_cancelled(call.name)))
    return state


def _started(
    state: State, call: ToolCall, arguments: JsonText, waiting: tuple[ToolCall, ...], notes: tuple[Note, ...]
) -> Step:
    ref = state.next_ref
    tally = replace(state.tally, tool_calls=state.tally.tool_calls + 1)
    running = replace(state, phase=AwaitingTools(ref, call, waiting), tally=tally, next_ref=ref + 1)
    started = CallStarted(tally.turns, call.id, call.name, call.provenance)
    return Step(running, (RunTool(ref, call.id, call.name, arguments),), (*notes, started))


def _answered(state: State, call: ToolCall, envelope: Envelope) -> State:
    failures = state.tally.failed_calls + (not envelope.ok)
    answered = state.said(ToolMessage(call.id, envelope.text()))
    return replace(answered, tally=replace(state.tally, failed_calls=failures))
