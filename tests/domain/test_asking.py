from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook import Playbook, asks, calling, finishes, replies_calling, returns, runs, tells
from toolreel.asking import ask, ask_again, request_of, wait
from toolreel.config import LoopConfig
from toolreel.effects import Finish, SendRequest, Wait
from toolreel.messages import SystemMessage, UserMessage
from toolreel.notes import CallStarted, RequestSent, RetryPlanned, RunSettled
from toolreel.outcome import BudgetSpent, ContextOverflow, MaxTurns
from toolreel.plan import Plan
from toolreel.request import Request
from toolreel.state import AwaitingReply, Memory, Settled, State, Tally, Waiting
from toolreel.surface import ToolDefinition

PLAN = Plan.of(
    model="m",
    messages=[SystemMessage("Be brief."), UserMessage("Grüße")],
    options={"temperature": 0},
    tools=[ToolDefinition.of("ping")],
    config=LoopConfig(max_turns=2),
)
PING = ("call_a", "ping", "{}")
PONG = ("call_b", "ping", "{}")
TOLD = State.idle(PLAN)
DROPPED = replace(TOLD, memory=Memory(tools_dropped=True))
DISABLED = State.idle(replace(PLAN, config=LoopConfig(tool_use_mode="disabled")))
EARLIER = CallStarted(1, "call_a", "ping", "structured")


def configured(**settings: int) -> State:
    return State.idle(replace(PLAN, config=LoopConfig.of(settings)))


def test_the_model_is_asked_with_the_conversation_and_the_options_of_the_plan() -> None:
    idle = State.idle(PLAN)
    asked = ask(idle)
    request = Request("m", idle.messages, PLAN.request_options)
    assert asked.effects == (SendRequest(1, request),)
    assert asked.state == replace(idle, phase=AwaitingReply(1), tally=Tally(turns=1), next_ref=2)


def test_what_is_sent_is_noted_after_what_led_to_it() -> None:
    asked = ask(State.idle(PLAN), (EARLIER,))
    (effect,) = asked.effects
    assert isinstance(effect, SendRequest)
    size = len('{"role":"system","content":"Be brief."}') + len('{"role":"user","content":"Grüße"}'.encode())
    assert asked.notes == (EARLIER, RequestSent(1, 2, size, effect.request.digest))


def test_a_run_that_has_no_turn_left_ends() -> None:
    spent = replace(State.idle(PLAN), tally=Tally(turns=2))
    ended = ask(spent, (EARLIER,))
    assert ended.effects == (Finish(MaxTurns(2)),)
    assert ended.notes == (EARLIER, RunSettled("max_turns"))
    assert ended.state == replace(spent, phase=Settled(MaxTurns(2)))


@pytest.mark.parametrize("state", [TOLD, DROPPED, DISABLED], ids=["told", "dropped", "disabled"])
def test_a_request_without_tools_says_so_in_the_phase(state: State) -> None:
    asked = ask(state, tools=state is not TOLD)
    request = Request("m", state.messages, PLAN.options_without_tools)
    assert asked.effects == (SendRequest(1, request),)
    assert asked.state.phase == AwaitingReply(1, tools_sent=False)


def test_a_budget_that_is_used_up_ends_the_run() -> None:
    rich = configured(max_total_tokens=10)
    assert isinstance(ask(replace(rich, tally=Tally(prompt_tokens=9))).effects[0], SendRequest)
    ended = ask(replace(rich, tally=Tally(prompt_tokens=9, completion_tokens=1)))
    assert ended.effects == (Finish(BudgetSpent("tokens", 10, 10)),)


def test_a_conversation_that_does_not_fit_ends_the_run() -> None:
    ended = ask(configured(context_window_tokens=1), (EARLIER,))
    assert isinstance(ended.state.phase, Settled)
    assert isinstance(ended.state.phase.outcome, ContextOverflow)
    assert ended.notes == (EARLIER, RunSettled("context_overflow"))


def test_a_request_that_failed_waits_and_goes_out_again_as_it_was() -> None:
    asked = ask(State.idle(PLAN), tools=False).state
    assert isinstance(asked.phase, AwaitingReply)
    waiting = wait(asked, asked.phase, 700, (EARLIER,))
    assert waiting.effects == (Wait(2, 700),)
    assert waiting.notes == (EARLIER, RetryPlanned(1, 1, 700))
    phase = Waiting(2, 700, asked.phase)
    assert waiting.state.phase == phase
    again = ask_again(waiting.state, phase)
    assert again.effects == (SendRequest(3, request_of(asked, tools=False)),)
    assert again.state.phase == AwaitingReply(3, 2, tools_sent=False)
    assert [(note.turn, note.attempt) for note in again.notes if isinstance(note, RequestSent)] == [(1, 2)]
    assert again.state.tally == Tally(turns=1)


def test_a_wait_that_used_up_the_time_ends_the_run() -> None:
    asked = ask(configured(max_wall_ms=1_000)).state
    assert isinstance(asked.phase, AwaitingReply)
    phase = Waiting(2, 700, asked.phase)
    in_time, too_late = (replace(asked, phase=phase, tally=Tally(1, at_ms=ms)) for ms in (999, 1_000))
    assert isinstance(ask_again(in_time, phase).effects[0], SendRequest)
    assert ask_again(too_late, phase).effects == (Finish(BudgetSpent("time", 1_000, 1_000)),)


def test_the_tools_of_the_last_turn_still_run_and_stand_in_the_history() -> None:
    played = Playbook(PLAN).play(
        asks(),
        replies_calling(PING),
        runs("call_a", "ping", {}),
        returns("pong"),
        asks(calling(PING), tells("call_a", "ping", {"value": "pong"})),
        replies_calling(PONG),
        runs("call_b", "ping", {}),
        returns("pong"),
        finishes(MaxTurns(2)),
    )
    last = list(played.state.messages.messages)[-2:]
    assert last == [calling(PONG), tells("call_b", "ping", {"value": "pong"})]
    assert played.state.tally == Tally(turns=2, tool_calls=2)
