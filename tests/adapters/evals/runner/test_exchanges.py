from __future__ import annotations

from toolreel._driver import ToolHost
from toolreel.evals import WorldHost
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core.evals import Desk

DESK = Desk(takes=("book",))


def booking(ref: int, day: int) -> RunTool:
    return RunTool(ref, "call_a", "book", canonical({"day": day}))


def test_each_call_meets_the_world_that_the_one_before_has_left() -> None:
    host = WorldHost(DESK)
    tools: ToolHost = host
    assert tools.run(booking(2, 1)) == ToolReturned(2, DESK.call("book", {"day": 1})[1])
    assert '"noted":2' in tools.run(booking(4, 2)).output
    assert host.world.contents() == {
        "orders": [{"tool": "book", "arguments": {"day": 1}}, {"tool": "book", "arguments": {"day": 2}}]
    }
    assert DESK.contents() == {"orders": []}


def test_arguments_that_are_no_object_are_none() -> None:
    host = WorldHost(DESK)
    host.run(RunTool(1, "call_a", "book", canonical([1])))
    assert host.world.contents() == {"orders": [{"tool": "book", "arguments": {}}]}
