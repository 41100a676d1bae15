from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel._internal import AdapterError
from toolreel.tools import RunContext, as_current_call, begin_spending, current_call, spend
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import RunTool, Spent


def context_of(name: str) -> RunContext[None]:
    return RunContext.of_call(RunTool(1, f"call_{name}", name, canonical({}), f"key of {name}"), None)


def test_outside_of_a_call_there_is_none() -> None:
    with pytest.raises(ZeroDivisionError), as_current_call(context_of("a")):
        raise ZeroDivisionError
    for ask in (current_call, lambda: spend(Spent(1))):
        assert complaint(AdapterError, ask).startswith("no tool call is running here;")
    begin_spending().add_ended_run(Spent(1))


def test_listeners_hear_of_the_end_once_and_late_ones_at_once() -> None:
    heard: list[str] = []
    context = context_of("a")
    context.on_end(lambda: heard.append("first"))
    assert heard == []
    context.end()
    context.end()
    context.on_end(lambda: heard.append("late"))
    assert heard == ["first", "late"]


def test_what_a_tool_spends_adds_up_and_what_is_underway_is_unknown() -> None:
    totals: list[Spent | None] = []
    with as_current_call(context := context_of("a")):
        spend(None)
        totals.append(context.spending.total)
        spend(Spent(10, cost=0.5))
        inner, other = begin_spending(), begin_spending()
        totals.append(context.spending.total)
        inner.add_ended_run(Spent(5, cost=0.25))
        other.add_ended_run(None)
        totals.append(context.spending.total)
    assert totals == [None, Spent(10, cost=0.5, unpriced=2), Spent(15, cost=0.75, priced=2)]
