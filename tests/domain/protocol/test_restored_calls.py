"""Stored states that name calls which the plan does not let run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint, worked
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import JsonText, canonical, parse
from toolreel_core._loop import pending, uncertain
from toolreel_core._plan import FallbackPlan, Plan
from toolreel_core._protocol import (
    AskApproval,
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    InFlight,
    RunTool,
    State,
    Waiting,
    dump,
    load_state,
)
from toolreel_core._replies import ArgumentError, ToolCall
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import Envelope, ToolDefinition, ToolSurface

PARAMETERS = canonical({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
SURFACE = ToolSurface(
    (
        ToolDefinition("files.read", parameters=PARAMETERS, read_only=True),
        ToolDefinition("pay", parameters=PARAMETERS, needs_approval=True),
        ToolDefinition("hidden", parameters=PARAMETERS, exposed=False),
    ),
    masked=("rm",),
)
PLAN = Plan.of(model="m", messages="hi", tools=SURFACE)
FITS = canonical({"n": 1})
DONE = InFlight(2, ToolCall("c0", "rm", FITS, FITS), Envelope(True, "rm", canonical({})))


def call(name: str, arguments: JsonText | ArgumentError = FITS, provenance: str = "structured") -> ToolCall:
    return ToolCall("c1", name, arguments, FITS, provenance)


def running(*flights: InFlight, config: LoopConfig | None = None) -> State:
    plan = PLAN if config is None else replace(PLAN, config=config)
    return replace(State.idle(plan), phase=AwaitingTools(flights, ()), next_ref=9)


def asking(one: ToolCall, arguments: JsonText = FITS) -> State:
    return replace(State.idle(PLAN), phase=AwaitingApproval(3, one, arguments, ()), next_ref=9)


def told(state: State) -> str:
    return complaint(CodecError, lambda: load_state(dump(state)))


@pytest.mark.parametrize(
    ("name", "why"), worked("a call of a tool that may not run is refused", "runs-and-plans")
)
def test_a_call_of_a_tool_that_may_not_run_is_refused(name: str, why: str) -> None:
    assert told(running(DONE, InFlight(3, call(name)))) == f"value.phase.running[1].call.name: {why}"
    assert told(asking(call(name))) == f"value.phase.call.name: {why}"


def test_arguments_that_never_passed_the_checks_are_refused() -> None:
    wrong, unread = canonical({"n": "1"}), ArgumentError("ARGUMENTS_INVALID_JSON", "it ended")
    place = "value.phase.running[0].call.arguments"
    assert told(running(InFlight(3, call("pay", wrong)))) == f'{place}: /n: expected integer, got "1"'
    assert told(running(InFlight(3, call("pay", unread)))) == (
        f"{place}: they could not be read, so the call never ran"
    )
    assert told(asking(call("pay"), canonical({"n": 2}))) == (
        "value.phase: the arguments to approve are not those of the call"
    )


def test_a_call_in_text_that_may_only_read_is_refused() -> None:
    config = LoopConfig(text_calls_for="read_only")
    state = running(InFlight(3, call("pay", provenance="text:json_fenced")), config=config)
    assert told(state) == "value.phase.running[0].call: the tool 'pay' may not be called in text"
    read = running(InFlight(3, call("files_read", provenance="text:json_fenced")), config=config)
    assert load_state(dump(read)) == read


def test_running_calls_that_nothing_could_answer_are_refused() -> None:
    assert told(running(DONE)) == "value.phase.running: no call is running"
    twice = running(InFlight(3, call("files.read")), InFlight(3, call("files.read")))
    assert told(twice) == "value.phase.running: two calls have the same ref"


@pytest.mark.parametrize(
    "settings",
    [{}, {"context_window_tokens": 99}, {"history_policies": ["summarize_old_turns"]}],
)
def test_a_summary_that_the_plan_never_has_made_is_refused(settings: dict[str, Any]) -> None:
    asked = replace(State.idle(replace(PLAN, config=LoopConfig.of(settings))), next_ref=9)
    phase = AwaitingReply(3, purpose="summary")
    no_summary = "the plan has no summaries made"
    assert told(replace(asked, phase=phase)) == f"value.phase.purpose: {no_summary}"
    assert told(replace(asked, phase=Waiting(4, 1, phase))) == f"value.phase.failed.purpose: {no_summary}"


NAMES = ["files.read", "files_read", "pay", "hidden", "rm", "unknown", ""]


@given(st.data())
def test_a_stored_state_hands_out_only_effects_that_its_plan_allows(data: st.DataObject) -> None:
    """Whatever the calls of a stored state say, it is refused, or its effects are those of exposed tools."""
    tree: Any = parse(dump(running(InFlight(3, call("files.read")), InFlight(4, call("pay")))))
    if data.draw(st.booleans()):
        tree = parse(dump(asking(call("pay"))))
    phase = tree["value"]["phase"]
    calls = [phase["call"]] if "call" in phase else [flight["call"] for flight in phase["running"]]
    for one in calls:
        one["name"] = data.draw(st.sampled_from(NAMES))
        one["arguments"] = data.draw(st.sampled_from(['{"n":1}', "{}", '{"n":"1"}', "[]", "7"]))
    try:
        state = load_state(canonical(tree))
    except CodecError:
        return
    for effect in pending(state):
        assert isinstance(effect, RunTool | AskApproval)
        assert effect.name in {"files.read", "pay"}
        assert effect.arguments == FITS
    assert {effect.name for effect in uncertain(state)} <= {"pay"}


def test_the_endpoint_of_a_stored_state_is_one_of_its_plan() -> None:
    plan = replace(PLAN, fallbacks=(FallbackPlan("backup", model="b"),))
    there = replace(State.idle(plan), endpoint=1)
    assert (there.present.model, there.endpoint_name) == ("b", "backup")
    assert load_state(dump(there)) == there
    for odd in (2, -1):
        wrong = replace(there, endpoint=odd)
        assert told(wrong) == f"value.endpoint: the plan has 1 fallbacks, got {odd}"
