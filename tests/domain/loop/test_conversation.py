"""Conversations: the user speaks after the end of a run, and while one is underway."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.playbook import (
    Playbook,
    asks,
    body_of,
    calling,
    fails_to_send,
    faults,
    finishes,
    replies,
    replies_calling,
    returns,
    runs,
    tells,
)
from toolreel_core._conversation import AssistantMessage, UserMessage
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._loop import fold, pending, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    BudgetSpent,
    Cancelled,
    CancelRequested,
    Completed,
    ConversationSpent,
    EmptyFinal,
    Finish,
    MaxTurns,
    Memory,
    OptionIgnored,
    Outcome,
    ReplyReceived,
    SendRequest,
    Settled,
    State,
    ToolReturned,
    TransformFailed,
    TransportFailed,
    UserSpoke,
    dump,
    load_state,
)
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolDefinition, call_abandoned, call_cancelled
from toolreel_core._transforms import register_transform, registry

PLAN = Plan.of(
    model="m",
    messages="hi",
    tools=[ToolDefinition("ping"), ToolDefinition("wipe", needs_approval=True)],
)
PING = ("call_a", "ping", "{}")
AGAIN = ("call_b", "ping", "{}")
PONG = tells("call_a", "ping", {"value": 1})
NOW = UserSpoke("And now?")
THEN = UserSpoke("And then?")
SAID = (UserMessage("And now?"), UserMessage("And then?"))
HELLO = AssistantMessage("Hello.")
PINGS = (replies_calling(PING), runs("call_a", "ping", {}), returns(1))


def plan(**settings: Any) -> Plan:  # noqa: ANN401 - any setting of LoopConfig
    return replace(PLAN, config=LoopConfig.of(settings))


def said(content: str, ref: int = 1, usage: Json = None) -> ReplyReceived:
    return ReplyReceived(ref, 200, canonical(body_of(content) | {"usage": usage}))


def called(ref: int, *calls: tuple[str, str, str]) -> ReplyReceived:
    return ReplyReceived(ref, 200, canonical(body_of(None, *calls)))


def test_a_message_just_before_the_answer_does_what_one_just_after_it_does() -> None:
    before, after = fold(PLAN, [NOW, said("Hello.")]), fold(PLAN, [said("Hello."), NOW])
    assert before == replace(after, notes=before.notes)
    assert before.notes[-3:] == after.notes
    assert dump(before.state) == dump(after.state)


def test_the_memory_of_the_policies_begins_anew_but_for_what_the_server_taught() -> None:
    ended = fold(PLAN, [said("Hello.")]).state
    learned = Memory(
        nudges=1,
        finalizing=True,
        tools_dropped=True,
        successes=2,
        called=("ping",),
        last_ok=Memory().last_ok.set("ping", True),
        upstream="Google",
        corrections=1,
        asked_again=True,
    )
    memory = step(replace(ended, memory=learned), NOW).state.memory
    assert memory == Memory(tools_dropped=True, upstream="Google")


ENDS: list[tuple[Plan, tuple[Any, ...], Outcome, tuple[Any, ...]]] = [
    (
        plan(max_turns=1),
        PINGS,
        MaxTurns(1),
        (calling(PING), PONG),
    ),
    (
        plan(max_tool_calls=1),
        (replies_calling(PING, AGAIN), runs("call_a", "ping", {}), returns(1)),
        BudgetSpent("tool_calls", 1, 1),
        (calling(PING, AGAIN), PONG, faults("call_b", "ping", call_abandoned("ping"))),
    ),
    (
        plan(max_tries=1),
        (fails_to_send("timeout", "slow"),),
        TransportFailed("timeout", None, "slow"),
        (),
    ),
    (
        PLAN,
        (replies_calling(PING), runs("call_a", "ping", {}), CancelRequested("stop")),
        Cancelled("stop"),
        (calling(PING), faults("call_a", "ping", call_cancelled("ping"))),
    ),
    (PLAN, (CancelRequested("stop"),), Cancelled("stop"), ()),
    (plan(fix_empty_final=False), (replies(""),), EmptyFinal(), ()),
]


@pytest.mark.parametrize(("limited", "script", "outcome", "news"), ENDS)
def test_an_end_without_an_answer_keeps_what_was_said_meanwhile_for_the_next_message(
    limited: Plan, script: tuple[Any, ...], outcome: Outcome, news: tuple[Any, ...]
) -> None:
    played = Playbook(limited).play(asks(), NOW, *script, finishes(outcome))
    assert played.state.unsent == (SAID[0],)
    stored = load_state(dump(played.state))
    (sent,) = step(stored, THEN).effects
    assert isinstance(sent, SendRequest)
    assert [*sent.request.messages.messages] == [UserMessage("hi"), *news, *SAID]


@pytest.mark.parametrize(
    ("settings", "usage", "outcome"),
    [
        ({"max_conversation_turns": 1}, None, ConversationSpent("turns", 1, 1)),
        (
            {"max_conversation_tokens": 12},
            {"prompt_tokens": 8, "completion_tokens": 4},
            ConversationSpent("tokens", 12, 12),
        ),
        ({"max_conversation_cost": 0.5}, {"cost": 0.5}, ConversationSpent("cost", 0.5, 0.5)),
    ],
)
def test_a_spent_conversation_refuses_each_time_and_loses_no_message(
    settings: dict[str, float], usage: Json, outcome: Outcome
) -> None:
    ended = fold(plan(**settings), [said("Hello.", usage=usage)])
    assert ended.effects == (Finish(Completed("Hello.")),)
    refused = step(ended.state, NOW)
    assert refused.effects == (Finish(outcome),)
    twice = step(refused.state, THEN)
    assert twice.effects == (Finish(outcome),)
    assert (twice.state.outcome, pending(twice.state)) == (outcome, ())
    assert twice.state.unsent == SAID
    assert [*twice.state.messages.messages] == [UserMessage("hi"), HELLO]


def test_the_time_of_an_exchange_begins_when_the_user_speaks() -> None:
    limited = plan(max_wall_ms=100)
    first = fold(limited, [replace(said("Hello."), at_ms=90)])
    spoke = step(first.state, replace(NOW, at_ms=500)).state
    assert spoke.exchange_began.at_ms == 500
    ran = step(step(spoke, replace(called(2, PING), at_ms=540)).state, ToolReturned(3, "1", at_ms=601))
    assert ran.effects == (Finish(BudgetSpent("time", 101, 100)),)


def test_a_run_that_was_cancelled_before_its_first_request_begins_with_the_message() -> None:
    odd = replace(PLAN, options=canonical({"temperature": 2}), provider=Provider(temperature_rule="drop"))
    ignored = [note for note in start(odd).notes if isinstance(note, OptionIgnored)]
    begun = step(step(State.idle(odd), CancelRequested()).state, NOW)
    (sent,) = begun.effects
    assert isinstance(sent, SendRequest)
    assert [*sent.request.messages.messages] == [UserMessage("hi"), SAID[0]]
    assert [note for note in begun.notes if isinstance(note, OptionIgnored)] == ignored


def test_a_transform_that_failed_is_tried_again_and_no_message_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", deepcopy(vars(registry)["_REGISTRY"]))
    failing = [True]

    @register_transform("message", "fails_at_times", about="Fails until it is mended.")
    def fails_at_times(tree: Tree) -> Tree:
        if failing:
            raise KeyError("not mended yet")
        return tree

    odd = plan(message_transforms=["fails_at_times"])
    failed = start(odd)
    assert isinstance(failed.state.phase, Settled)
    again = step(failed.state, NOW)
    assert isinstance(again.state.phase, Settled)
    assert isinstance(again.state.phase.outcome, TransformFailed)
    failing.clear()
    (sent,) = step(again.state, THEN).effects
    assert isinstance(sent, SendRequest)
    assert [*sent.request.messages.messages] == [UserMessage("hi"), *SAID]


def test_times_of_messages_count_while_a_run_is_underway() -> None:
    assert fold(PLAN, [replace(NOW, at_ms=70)]).state.tally.at_ms == 70
