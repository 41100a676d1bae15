from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook import body_of
from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core._loop.reducer import fold, start
from toolreel_core._loop.resume import pending, uncertain
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import AskApproval, Finish, RunTool, SendRequest, Wait
from toolreel_core._protocol.events import (
    ApprovalGiven,
    CancelRequested,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
)
from toolreel_core._protocol.state import AwaitingTools, InFlight, State
from toolreel_core._replies.calls.arguments import ArgumentError
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._settings.config import LoopConfig
from toolreel_core._tools.surface import ToolDefinition, ToolFlags, ToolSurface

PING = ToolDefinition("ping", read_only=True)
WIPE = ToolDefinition("wipe", needs_approval=True)
PLAN = Plan.of(model="m", messages="hi", tools=[PING, WIPE], config=LoopConfig(parallel_tools=True))
A_PING, B_PING = ("call_a", "ping", "{}"), ("call_b", "ping", "{}")
TWO = ReplyReceived(1, 200, canonical(body_of(None, A_PING, B_PING)))
GUARDED = ReplyReceived(1, 200, canonical(body_of(None, ("call_a", "wipe", "{}"), B_PING)))
EMPTY = JsonText("{}")


def test_before_it_starts_a_run_waits_for_nothing() -> None:
    assert pending(State.idle(PLAN)) == ()


def test_every_first_step_is_waited_for_as_it_was_asked() -> None:
    failed = RequestFailed(1, "timeout", "too slow")
    for events in (
        (),
        (TWO,),
        (GUARDED,),
        (failed,),
        (CancelRequested(),),
        (GUARDED, ApprovalGiven(2, True)),
    ):
        at = fold(PLAN, events)
        assert at.effects
        assert pending(at.state) == at.effects


def test_each_phase_waits_for_its_own_kind_of_effect() -> None:
    assert isinstance(pending(start(PLAN).state)[0], SendRequest)
    assert pending(fold(PLAN, [RequestFailed(1, "timeout", "")]).state) == (Wait(2, 713),)
    assert pending(fold(PLAN, [GUARDED]).state) == (AskApproval(2, "call_a", "wipe", EMPTY),)
    (finish,) = pending(fold(PLAN, [CancelRequested()]).state)
    assert isinstance(finish, Finish)


def test_what_came_back_is_no_longer_waited_for() -> None:
    one, two = RunTool(2, "call_a", "ping", EMPTY), RunTool(3, "call_b", "ping", EMPTY)
    assert pending(fold(PLAN, [TWO]).state) == (one, two)
    assert pending(fold(PLAN, [TWO, ToolReturned(2, "1")]).state) == (two,)
    assert pending(fold(PLAN, [TWO, ToolReturned(3, "1")]).state) == (one,)


@pytest.mark.parametrize(
    ("flags", "known"), [({}, False), ({"read_only": True}, True), ({"idempotent": True}, True)]
)
def test_a_call_under_way_may_have_had_effects_unless_its_tool_says_it_does_no_harm(
    flags: ToolFlags, known: bool
) -> None:
    tools = [ToolDefinition.of("ping", **flags), WIPE]
    at = fold(replace(PLAN, tools=ToolSurface(tuple(tools))), [ReplyReceived(1, 200, ONE)])
    assert uncertain(at.state) == (() if known else at.effects)


def test_what_is_not_under_way_is_certain() -> None:
    for events in ((), (GUARDED,), (CancelRequested(),)):
        assert uncertain(fold(PLAN, events).state) == ()
    approved = fold(PLAN, [GUARDED, ApprovalGiven(2, True)])
    assert uncertain(approved.state) == approved.effects


ONE = canonical(body_of(None, A_PING))


def test_a_call_without_arguments_can_be_in_no_state_that_a_run_reaches() -> None:
    cut = ToolCall("call_a", "ping", ArgumentError("ARGUMENTS_TRUNCATED"), "")
    forged = replace(State.idle(PLAN), phase=AwaitingTools((InFlight(2, cut),), ()))
    with pytest.raises(AssertionError, match="never in flight"):
        pending(forged)
