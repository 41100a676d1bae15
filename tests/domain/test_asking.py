from __future__ import annotations

from dataclasses import replace

from tests.playbook import Playbook, asks, calling, finishes, replies_calling, returns, runs, tells
from toolreel.asking import ask
from toolreel.config import LoopConfig
from toolreel.effects import Finish, SendRequest
from toolreel.messages import SystemMessage, UserMessage
from toolreel.notes import CallStarted, RequestSent, RunSettled
from toolreel.outcome import MaxTurns
from toolreel.plan import Plan
from toolreel.request import Request
from toolreel.state import AwaitingReply, Settled, State, Tally
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
EARLIER = CallStarted(1, "call_a", "ping", "structured")


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
