from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._conversation import SystemMessage, UserMessage
from toolreel_core._jsontext import JsonText, canonical
from toolreel_core._loop import call_digest, restatement, shortened, task_of, with_done, with_task
from toolreel_core._plan import Plan
from toolreel_core._protocol import DoneCall, Memory, State, Tally
from toolreel_core._replies import ArgumentError, ToolCall
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition

PLAN = Plan.of(
    model="m",
    messages=[UserMessage("One."), UserMessage("Two.")],
    tools=[ToolDefinition("a.b")],
    config=LoopConfig(restate_task=True),
)
STATE = State.idle(PLAN)
CALL = ToolCall("x", "a_b", canonical({"n": 1}), '{"n":1}')


def test_without_a_message_of_the_user_there_is_no_task_to_tell() -> None:
    alone = State.idle(replace(PLAN, messages=(SystemMessage("Go."),)))
    assert task_of(alone) == ""
    assert restatement(alone) == "No call has succeeded so far."


def test_a_long_task_and_long_calls_are_shortened_and_only_the_latest_are_told() -> None:
    many = tuple(DoneCall(str(number), "a.b", f"a_b {number}") for number in range(20))
    long = State.idle(replace(PLAN, messages=(UserMessage("x" * 5_000),)))
    told = restatement(replace(long, memory=Memory(done=many)))
    assert "- a_b 8\n" in told
    assert "- a_b 7\n" not in told
    assert len(told) < 1_300
    wide = ToolCall("x", "a_b", canonical({"n": "y" * 5_000}), "")
    (done,) = with_done(STATE, Memory(), wide).done
    assert len(done.shown) == 200


def test_a_call_is_remembered_once_under_its_inner_name_and_told_by_the_outward_one() -> None:
    once = with_done(STATE, Memory(), CALL)
    assert with_done(STATE, once, replace(CALL, id="y")) is once
    assert once.done == (DoneCall(call_digest("a.b", canonical({"n": 1})), "a.b", 'a_b {"n":1}'),)


def test_nothing_is_remembered_where_no_setting_needs_it_or_nothing_can_be_read() -> None:
    plain = State.idle(replace(PLAN, config=LoopConfig()))
    assert with_task(plain, (UserMessage("Three."),)) is plain.memory
    memory, unread = Memory(), replace(CALL, arguments=ArgumentError("ARGUMENTS_TRUNCATED"))
    assert with_done(STATE, memory, unread) is memory


def test_what_is_said_before_the_first_turn_joins_the_task() -> None:
    assert with_task(STATE, (UserMessage("Three."),)).task == "Two.\nThree."
    later = replace(STATE, tally=Tally(turns=2), exchange_began=Tally(turns=2))
    assert with_task(later, (UserMessage("Three."),)).task == "Three."


@pytest.mark.parametrize("other", ['{"a":[2,1]}', '{"a":[1]}', '{"b":[1,2]}', '{"a":["1","2"]}'])
def test_other_values_make_another_call(other: str) -> None:
    assert call_digest("t", JsonText('{"a":[1,2]}')) != call_digest("t", JsonText(other))
    assert call_digest("t", JsonText(other)) != call_digest("u", JsonText(other))


@given(st.text(), st.integers(7, 60))
def test_a_shortened_text_is_never_too_long(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert short == text.strip() or (len(text.strip()) > most and " … " in short)
