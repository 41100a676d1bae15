from __future__ import annotations

import pytest
from pyrsistent import pmap

from toolreel_core._jsontext import canonical
from toolreel_core._loop import record_repetition, with_repetition_warning
from toolreel_core._protocol import Memory
from toolreel_core._replies import ArgumentError, ToolCall
from toolreel_core._tools import Envelope

WELL = Envelope(True, "add", canonical({"sum": 2}))
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
