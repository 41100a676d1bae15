"""The phase of a stored state, checked against the tools of its plan.

A running call was admitted once, so a state in which it could not have been is damaged or forged. The checks
are those of ``_loop/admission.py``, as far as they still hold after a call was coerced. Whether a person
approved a running call is not among them: nothing in a state could prove it, so a state that others can write
has to be sealed (:func:`~toolreel_core._protocol.hmac_seal.seal`).
"""

from __future__ import annotations

from typing import assert_never

from toolreel_core._conversation import SUMMARIZE
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import JsonText
from toolreel_core._plan import Plan
from toolreel_core._protocol.state import (
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    Idle,
    Settled,
    State,
    Waiting,
)
from toolreel_core._replies import ToolCall
from toolreel_core._schema import violations
from toolreel_core._settings import LoopConfig


def check_phase(state: State) -> None:
    """Check that every call that runs, or waits for approval, is one that the plan lets run.

    And that a summary is awaited only where the plan has one made, and the endpoint is one of the plan's.

    :raises CodecError: names the place and the tool
    """
    known = len(state.plan.fallbacks)
    if not 0 <= state.endpoint <= known:
        raise CodecError(f"value.endpoint: the plan has {known} fallbacks, got {state.endpoint}")
    match state.phase:
        case AwaitingTools() as phase:
            _check_running(state.plan, phase)
        case AwaitingApproval() as phase:
            if phase.call.arguments != phase.arguments:
                raise CodecError("value.phase: the arguments to approve are not those of the call")
            _check_call(state.plan, phase.call, "value.phase.call")
        case AwaitingReply() as phase:
            _check_purpose(state.present.config, phase, "value.phase")
        case Waiting() as phase:
            _check_purpose(state.present.config, phase.failed, "value.phase.failed")
        case Idle() | Settled():
            pass
        case _:
            assert_never(state.phase)


def _check_purpose(config: LoopConfig, phase: AwaitingReply, place: str) -> None:
    if phase.purpose == "summary" and (
        SUMMARIZE not in config.history_policies or config.context_window_tokens is None
    ):
        raise CodecError(f"{place}.purpose: the plan has no summaries made")


def _check_running(plan: Plan, phase: AwaitingTools) -> None:
    open_refs = [flight.ref for flight in phase.running if flight.result is None]
    if not open_refs:
        raise CodecError("value.phase.running: no call is running")
    if len(set(open_refs)) < len(open_refs):
        raise CodecError("value.phase.running: two calls have the same ref")
    for index, flight in enumerate(phase.running):
        if flight.result is None:
            _check_call(plan, flight.call, f"value.phase.running[{index}].call")


def _check_call(plan: Plan, call: ToolCall, place: str) -> None:
    tool = plan.tools.by_name.get(call.name)
    if tool is None or not tool.exposed:
        known = "may not be called" if call.name in plan.tools.known else "is not in the plan"
        raise CodecError(f"{place}.name: the tool {call.name!r} {known}")
    if not isinstance(call.arguments, JsonText):
        raise CodecError(f"{place}.arguments: they could not be read, so the call never ran")
    if plan.config.text_calls_for == "read_only" and call.from_text and not tool.read_only:
        raise CodecError(f"{place}: the tool {call.name!r} may not be called in text")
    if found := violations(tool.parameters, call.arguments):
        raise CodecError(f"{place}.arguments: {found[0]}")
