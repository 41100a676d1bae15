from __future__ import annotations

from dataclasses import replace

import pytest
from pyrsistent import pmap

from tests.samples import PLAN
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext.canonical import NOTHING, canonical
from toolreel_core._loop.budgets import (
    estimated_tokens,
    exhausted_limit,
    input_token_limit,
    overflow,
    record_repetition,
    spent_budget,
    tool_calls_spent,
    with_repetition_warning,
)
from toolreel_core._plan.plan import Plan
from toolreel_core._plan.request import RequestOptions
from toolreel_core._protocol.outcome import BudgetKind, BudgetSpent, ContextOverflow, MaxTurns
from toolreel_core._protocol.state import Memory, State, Tally
from toolreel_core._replies.calls.arguments import ArgumentError
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._settings.config import LoopConfig
from toolreel_core._tools.result import Envelope


def run(tally: Tally | None = None, **settings: float) -> State:
    plan = replace(PLAN, config=LoopConfig.of(settings))
    return replace(State.idle(plan), tally=tally or Tally())


@pytest.mark.parametrize(
    ("key", "kind", "limit", "used", "less"),
    [
        (
            "max_total_tokens",
            "tokens",
            10,
            Tally(prompt_tokens=4, completion_tokens=6),
            Tally(prompt_tokens=9),
        ),
        ("max_cost", "cost", 0.5, Tally(cost=0.5), Tally(cost=0.49)),
        ("max_wall_ms", "time", 100, Tally(at_ms=100), Tally(at_ms=99)),
    ],
)
def test_a_budget_is_used_up_when_the_last_of_it_is(
    key: str, kind: BudgetKind, limit: float, used: Tally, less: Tally
) -> None:
    assert spent_budget(run(used, **{key: limit})) == BudgetSpent(kind, limit, limit)
    assert spent_budget(run(less, **{key: limit})) is None
    assert spent_budget(run(used)) is None


def test_the_first_budget_that_is_used_up_is_told() -> None:
    tally = Tally(turns=12, prompt_tokens=9, cost=1.0, at_ms=9)
    assert exhausted_limit(run(tally, max_total_tokens=9, max_cost=1, max_wall_ms=9)) == MaxTurns(12)
    rest = replace(tally, turns=11)
    assert exhausted_limit(run(rest, max_total_tokens=9, max_cost=1)) == BudgetSpent("tokens", 9, 9)
    assert exhausted_limit(run(rest, max_cost=1, max_wall_ms=9)) == BudgetSpent("cost", 1.0, 1.0)
    assert exhausted_limit(run(rest)) is None


def test_the_budget_of_tool_calls_is_used_up_when_so_many_have_run() -> None:
    assert tool_calls_spent(run(Tally(tool_calls=2), max_tool_calls=2)) == BudgetSpent("tool_calls", 2, 2)
    assert tool_calls_spent(run(Tally(tool_calls=1), max_tool_calls=2)) is None
    assert tool_calls_spent(run(Tally(tool_calls=99))) is None


def options(size: int) -> RequestOptions:
    """Options of so many bytes."""
    text = canonical({"user": "x" * (size - len('{"user":""}'))})
    assert len(text) == size
    return RequestOptions(text)


def test_a_conversation_fits_as_long_as_four_bytes_a_token_leave_room_for_the_reply() -> None:
    tight = run(context_window_tokens=100, reserved_response_tokens=60)
    assert tight.messages.size == len('{"role":"user","content":"hi"}') == 30
    assert overflow(run(), options(10_000)) is None
    assert estimated_tokens(tight, options(128)) == 8 + 32
    assert overflow(tight, options(128)) is None
    over = overflow(tight, options(129))
    assert over == ContextOverflow(41, 40, ("tools and options: 129 bytes", "message 0 (user): 30 bytes"))


def test_there_is_room_for_what_the_window_leaves() -> None:
    assert input_token_limit(run()) is None
    assert input_token_limit(run(context_window_tokens=100)) == 100
    assert input_token_limit(run(context_window_tokens=100, reserved_response_tokens=60)) == 40


def test_each_message_is_estimated_for_itself_and_rounded_up() -> None:
    plan = Plan.of(model="m", messages=[UserMessage("hi")] * 3, config=LoopConfig(context_window_tokens=99))
    assert estimated_tokens(State.idle(plan), options(12)) == 3 * 8 + 3


def test_the_result_that_a_call_lacks_takes_room_too() -> None:
    calling = AssistantMessage("", (SentCall("t", "f", "{}"),))
    plan = Plan.of(model="m", messages=[calling], config=LoopConfig(context_window_tokens=9))
    missing = len(State.idle(plan).messages.complete().texts[1].encode())
    over = overflow(State.idle(plan), options(12))
    assert over is not None
    assert over.estimate == estimated_tokens(State.idle(plan), options(12)) == 30 + -(-missing // 4) + 3
    assert over.largest[0] == f"message 1 (tool): {missing} bytes"


def test_an_overflow_names_what_takes_the_most_room() -> None:
    messages: list[Message] = [
        SystemMessage("s" * 100),
        UserMessage("é"),
        AssistantMessage("", (SentCall("t", "f", "{}"),)),
        ToolMessage("t", "r" * 50),
    ]
    plan = Plan.of(model="m", messages=messages, config=LoopConfig(context_window_tokens=1))
    assert overflow(State.idle(plan), options(120)) == ContextOverflow(
        126,
        1,
        ("message 0 (system): 130 bytes", "tools and options: 120 bytes", "message 2 (assistant): 118 bytes"),
    )
    assert overflow(
        State.idle(replace(plan, messages=(messages[1], AssistantMessage("a")))), RequestOptions(NOTHING)
    ) == ContextOverflow(
        18,
        1,
        ("message 1 (assistant): 34 bytes", "message 0 (user): 30 bytes", "tools and options: 2 bytes"),
    )


WELL = Envelope(True, "add", canonical({"sum": 2}))
OTHER = Envelope(True, "add", canonical({"sum": 3}))
BADLY = Envelope(False, "add", canonical({}))


def call(name: str = "add", a: int = 1, original: str = "") -> ToolCall:
    arguments = canonical({"a": a})
    return ToolCall("call_a", name, arguments, original or arguments)


def counted(*happened: tuple[ToolCall, Envelope]) -> list[int]:
    memory, times = Memory(), []
    for one, result in happened:
        memory, streak = record_repetition(memory, one, result)
        times.append(streak)
    return times


def test_the_same_call_with_the_same_result_is_counted() -> None:
    assert counted((call(), WELL), (call(), WELL), (call(), WELL)) == [1, 2, 3]


def test_another_result_begins_anew() -> None:
    assert counted((call(), WELL), (call(), WELL), (call(), OTHER), (call(), WELL)) == [1, 2, 1, 1]


def test_other_calls_between_do_not_break_a_circle() -> None:
    assert counted((call(), WELL), (call(a=2), WELL), (call("ping"), WELL), (call(), WELL)) == [1, 1, 1, 2]


def test_arguments_count_as_what_they_mean_not_as_they_were_written() -> None:
    assert counted((call(original='{"a":1}'), WELL), (call(original='{ "a": 1 }'), WELL)) == [1, 2]


def test_arguments_that_could_not_be_read_count_as_they_were_written() -> None:
    error = ArgumentError("ARGUMENTS_INVALID_JSON", "odd")
    cut, longer = (ToolCall("call_a", "add", error, original) for original in ('{"a', '{"a":'))
    assert counted((cut, BADLY), (cut, BADLY), (longer, BADLY)) == [1, 2, 1]


def test_what_came_of_each_tool_is_remembered() -> None:
    memory = Memory()
    for one, result in ((call(), WELL), (call("ping"), BADLY), (call(), BADLY), (call(), WELL)):
        memory, _ = record_repetition(memory, one, result)
    assert (memory.successes, memory.called) == (2, ("add", "ping"))
    assert memory.last_ok == pmap({"add": True, "ping": False})
    assert type(memory.successes) is int


@pytest.mark.parametrize("before", [(), ("slow",)])
def test_a_warning_stands_behind_those_of_the_tool(before: tuple[str, ...]) -> None:
    result = with_repetition_warning(Envelope(True, "add", canonical({}), before), 3)
    assert result.warnings[:-1] == before
    assert "3 times" in result.warnings[-1]
    assert result.warnings[-1].endswith("Do something else.")
