"""Tools that the next reply may not call, since the model repeats itself: one conversation each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel_core._jsontext import Json, JsonText
from toolreel_core._loop import pending, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Event,
    RepeatedCall,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    Settled,
    State,
    Step,
    ToolReturned,
    ToolsWithheld,
    UserSpoke,
    Wait,
    WaitElapsed,
    dump,
    load_state,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition

WORDS: dict[str, Json] = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
TOOLS = (
    ToolDefinition.of("lists.add", parameters=WORDS),
    ToolDefinition.of("look", parameters=WORDS, read_only=True),
    ToolDefinition.of("poll", parameters=WORDS, polling=True),
)
ALL = ["lists_add", "look", "poll", "final_answer"]
FREE = ["anything"]

ADD_MILK, ADD_EGGS = ("lists_add", "milk"), ("lists_add", "eggs")
LOOK, LOOK_ELSEWHERE, POLL = ("look", "milk"), ("look", "eggs"), ("poll", "milk")


def plan(*tools: ToolDefinition, **settings: object) -> Plan:
    config = LoopConfig.of(
        {
            "constrained_calls": "response_format",
            "repeated_effects": "refuse",
            "withhold_repeated": 1,
            "repetition_warn": None,
            "repetition_stop": None,
            **settings,
        }
    )
    return Plan.of(model="m", messages="Put milk on the list.", tools=tools or TOOLS, config=config)


def reply(call: Sequence[str]) -> ReplyReceived:
    return written({"name": call[0], "arguments": {"item": call[1]}})


def written(call: dict[str, Json]) -> ReplyReceived:
    function: Json = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    calls: Json = [{"id": "call_a", "type": "function", "function": function}]
    message: Json = {"role": "assistant", "content": None, "tool_calls": calls}
    choice: Json = {"message": message, "finish_reason": "tool_calls"}
    return ReplyReceived(0, 200, json.dumps({"choices": [choice]}))


def answered(before: Step, output: Json) -> Step:
    """The step after the tools, if any, have run."""
    after = before
    while isinstance(after.effects[0], RunTool):
        after = step(after.state, ToolReturned(after.effects[0].ref, JsonText(json.dumps(output))))
    return after


def played(one: Plan, calls: Iterable[Sequence[str]], output: Json = 1) -> Step:
    after = start(one)
    for call in calls:
        after = answered(step(after.state, to(after.state, reply(call))), output)
    return after


def to(state: State, event: ReplyReceived | RequestFailed) -> Event:
    """The event as the answer to what the state waits for."""
    (effect,) = pending(state)
    assert isinstance(effect, SendRequest)
    return replace(event, ref=effect.ref)


def offered(after: Step) -> list[str]:
    """What the reply of the next request may call."""
    (effect,) = after.effects
    assert isinstance(effect, SendRequest)
    body = json.loads(effect.request.body)
    if "response_format" not in body:
        return FREE
    schema = body["response_format"]["json_schema"]["schema"]
    return [one["properties"]["name"]["const"] for one in schema["anyOf"]]


@pytest.mark.parametrize(
    ("calls", "expected", "settings", "output"),
    worked("after a repetition the tool is not offered until another call", "runs-and-plans"),
)
def test_after_a_repetition_the_tool_is_not_offered_until_another_call(
    calls: list[list[str]], expected: list[str], settings: dict[str, object], output: Json
) -> None:
    """An unknown tool brings it back, an effect that runs again counts, a failure is repeated once more."""
    assert offered(played(plan(**settings), calls, output)) == expected


def test_a_note_names_them_and_the_tools_that_are_sent_stay_the_same() -> None:
    first, after = start(plan()), played(plan(), [ADD_MILK, ADD_MILK])
    assert [note for note in after.notes if isinstance(note, ToolsWithheld)] == [
        ToolsWithheld(3, ("lists.add",))
    ]
    requests = [
        one.request for each in (first, after) for one in each.effects if isinstance(one, SendRequest)
    ]
    one, other = (json.loads(request.body)["tools"] for request in requests)
    assert one == other


def test_a_result_that_changes_is_no_repetition() -> None:
    once = played(plan(), [LOOK], 1)
    assert offered(answered(step(once.state, to(once.state, reply(LOOK))), 2)) == ALL


def test_a_model_that_repeats_although_it_is_not_offered_is_stopped() -> None:
    after = played(plan(repetition_stop=3), [ADD_MILK] * 4)
    assert isinstance(after.state.phase, Settled)
    assert after.state.phase.outcome == RepeatedCall("lists_add", 3)


def test_where_every_tool_is_withheld_the_answer_is_left() -> None:
    assert offered(played(plan(TOOLS[0]), [ADD_MILK, ADD_MILK])) == ["final_answer"]


@pytest.mark.parametrize("off", [{"constrained_calls": "off"}, {"withhold_repeated": 0}])
def test_nothing_changes_where_it_is_off(off: dict[str, object]) -> None:
    first, after = played(plan(**off), [LOOK]), played(plan(**off), [LOOK] * 3)
    (one,), (other,) = first.effects, after.effects
    assert isinstance(one, SendRequest)
    assert isinstance(other, SendRequest)
    assert one.request.options == other.request.options
    assert not [note for note in after.notes if isinstance(note, ToolsWithheld)]


def test_a_retry_and_a_stored_run_offer_the_same() -> None:
    after = played(plan(), [LOOK, LOOK])
    stored = load_state(dump(after.state))
    assert pending(stored) == pending(after.state)
    assert stored.memory.withheld == ("look",)
    failed = step(stored, to(stored, RequestFailed(0, "timeout", "late")))
    (wait,) = failed.effects
    assert isinstance(wait, Wait)
    assert offered(step(failed.state, WaitElapsed(wait.ref))) == [name for name in ALL if name != "look"]


def test_the_next_exchange_is_free_again() -> None:
    after = played(plan(), [LOOK, LOOK])
    ended = step(
        after.state,
        to(after.state, written({"name": "final_answer", "arguments": {"answer": "It is there."}})),
    )
    assert isinstance(ended.state.phase, Settled)
    assert offered(step(ended.state, UserSpoke("And eggs."))) == FREE


@given(st.lists(st.sampled_from([ADD_MILK, ADD_EGGS, LOOK, LOOK_ELSEWHERE, POLL]), max_size=7))
def test_the_answer_and_what_was_not_repeated_are_always_offered(calls: list[tuple[str, str]]) -> None:
    names = offered(played(plan(tool_use_mode="enforced"), calls))
    repeated = {name for place, (name, item) in enumerate(calls) if (name, item) in calls[:place]}
    assert "final_answer" in names
    assert set(ALL) - set(names) <= repeated - {"poll"}
    latest_is_new = not calls or calls[-1] not in calls[:-1]
    assert not latest_is_new or names == ALL
