"""The pending effects of a run, computed from its state alone, so that you can resume a stored run."""

from __future__ import annotations

from typing import assert_never

from toolreel_core._jsontext.canonical import JsonText
from toolreel_core._loop.admission import ask_approval, run_tool
from toolreel_core._loop.next_request import request_of
from toolreel_core._protocol.effects import Effect, Finish, RunTool, SendRequest, Wait
from toolreel_core._protocol.state import (
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    Idle,
    InFlight,
    Settled,
    State,
    Waiting,
)
from toolreel_core._replies.calls.arguments import ArgumentError


def pending(state: State) -> tuple[Effect, ...]:
    """The effects that have not been answered yet.

    >>> from toolreel_core._loop.reducer import start
    >>> from toolreel_core._plan.plan import Plan
    >>> at = start(Plan.of(model="m", messages="hi"))
    >>> pending(at.state) == at.effects
    True
    """
    match state.phase:
        case Idle():
            return ()
        case AwaitingReply() as phase:
            return (SendRequest(phase.ref, request_of(state, tools=phase.tools_sent)),)
        case Waiting() as phase:
            return (Wait(phase.ref, phase.ms),)
        case AwaitingTools() as phase:
            return tuple(_run(state, flight) for flight in phase.running if flight.result is None)
        case AwaitingApproval() as phase:
            return (ask_approval(state, phase.ref, phase.call, phase.arguments),)
        case Settled() as phase:
            return (Finish(phase.outcome),)
        case _:
            assert_never(state.phase)


def uncertain(state: State) -> tuple[RunTool, ...]:
    """The running calls that are not safe to repeat, if the run was interrupted while they ran.

    Resuming runs every pending call again, with the same key. That is harmless for read-only and idempotent
    tools; the calls returned here belong to other tools and may already have had effects, so you may want
    to confirm before resuming.
    """
    tools = state.plan.tools.by_name
    runs = [effect for effect in pending(state) if isinstance(effect, RunTool)]
    return tuple(run for run in runs if not (tools[run.name].read_only or tools[run.name].idempotent))


def _run(state: State, flight: InFlight) -> RunTool:
    arguments = flight.call.arguments
    match arguments:
        case JsonText():
            return run_tool(state, flight.ref, flight.call, arguments)
        case ArgumentError():
            raise AssertionError("a call whose arguments cannot be read is never in flight")
        case _:
            assert_never(arguments)
