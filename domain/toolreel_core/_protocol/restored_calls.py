"""The phase of a stored state, checked against the tools of its plan.

A running call was admitted once, so a state in which it could not have been is damaged or forged. The checks
are those of ``_loop/tool_calls.py``, as far as they still hold after a call was coerced. Whether a person
approved a running call is not among them: nothing in a state could prove it, so a state that others can write
has to be sealed (:func:`~toolreel_core._protocol.hmac_seal.seal`).
"""

from __future__ import annotations

from toolreel_core._conversation import SUMMARIZE
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import JsonText
from toolreel_core._plan import Plan
from toolreel_core._protocol.state import AwaitingApproval, AwaitingReply, AwaitingTools, State, Waiting
from toolreel_core._replies import ToolCall
from toolreel_core._schema import violations


def check_phase(state: State) -> None:
    """Check that every call that runs, or waits for approval, is one that the plan lets run.

    And that a summary is awaited only where the plan has one made, and the endpoint is one of the plan's.

    :raises CodecError: names the place and the tool
    """
    known = len(state.plan.fallbacks)
    if not 0 <= state.endpoint <= known:
        raise CodecError(f"value.endpoint: the plan has {known} fallbacks, got {state.endpoint}")
    phase, plan = state.phase, state.plan
    sent = phase.failed if isinstance(phase, Waiting) else phase
    if isinstance(sent, AwaitingReply):
        config = state.present.config
        summarizes = SUMMARIZE in config.history_policies and config.context_window_tokens is not None
        if sent.purpose == "summary" and not summarizes:
            place = "value.phase" if sent is phase else "value.phase.failed"
            raise CodecError(f"{place}.purpose: the plan has no summaries made")
    elif isinstance(phase, AwaitingApproval):
        if phase.call.arguments != phase.arguments:
            raise CodecError("value.phase: the arguments to approve are not those of the call")
        _check_call(plan, phase.call, "value.phase.call")
    elif isinstance(phase, AwaitingTools):
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
