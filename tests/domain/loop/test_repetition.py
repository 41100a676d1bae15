from __future__ import annotations

from toolreel_core._jsontext import canonical
from toolreel_core._loop import record_repetition
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
