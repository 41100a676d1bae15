"""Mistakes of a first program: each is told where it is made, with what to write, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, nan
from typing import Any, cast

import pytest

from tests.adapters.agent.shop import order
from tests.adapters.driver.immediate import ImmediateEndpoint
from toolreel import (
    Agent,
    AsyncPythonTools,
    ConfigError,
    Fallback,
    Plan,
    Ports,
    PythonTools,
    Tool,
    go_on,
    run,
)
from toolreel.http import HttpEndpoint
from toolreel.journals import MemoryJournal
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools import Isolation
from toolreel.tools.mcp import McpTools

WRONG: Any = None
ENDPOINT = ScriptedEndpoint([])
"""Whatever is sent to it raises."""
PLAN = Plan.of(model="m", messages="hi")
a: Any = partial(cast, Any)
"""A value that a type checker lets pass."""


CALLED: Any = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": object()}}}],
}


TOOLS = PythonTools([order])
ORDERS = calling(("order", {"part": "pin"}))


def agent(**settings: object) -> Agent[Any]:
    return Agent("m", endpoint=ENDPOINT, **cast("Any", settings))


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: agent().run(""), "the prompt is empty; write what the user says"),
    (lambda: Agent(WRONG, endpoint=ENDPOINT), "model: expected str, got None"),
    (lambda: agent(config={"max_turn": 3}), "'max_turn'.*max_turns"),
    (lambda: agent(fallbacks=[Fallback("b", config={"max_turn": 3})]), r"fallbacks\[0\]: .*'max_turn'"),
    (
        lambda: run(a("hi"), ENDPOINT),
        r"run: expected a Plan, got str; write run\(Plan.of\(model=..., messages='hi'\), ...\)",
    ),
    (lambda: run(a(agent()), ENDPOINT), r"agent.run\(prompt\)"),
    (lambda: go_on(a(PLAN), Ports(ENDPOINT)), "got Plan; write run.state"),
    (lambda: Ports(a("http://x")), r"got str; write HttpEndpoint\(base_url\)"),
    (lambda: Ports(a(HttpEndpoint)), "got the class HttpEndpoint"),
    (
        lambda: Ports(ENDPOINT, approver=a(lambda *_: True)),
        r"approver: expected an approver, got function; write Always\(\)",
    ),
    (lambda: Ports(ENDPOINT, clock=a(3)), r"clock: .* write SystemClock\(\)"),
    (lambda: agent(approve=lambda: True), "called with name and arguments"),
    (lambda: agent().run("hi", journal=a("x")), r"journal: .* got str; write Mem"),
    (lambda: agent().run("hi", observe=a(3)), "observe: expected a function of a note, got int"),
    (lambda: agent().run("hi", inbox=a([])), r"got list; write inbox=Inbox\(\)"),
    (lambda: agent().run("hi", record=a(3)), "record: expected str or Path"),
    (lambda: agent(preset=3), "preset: expected str or Path or Iterable or Preset"),
    (lambda: agent(fallbacks=[Fallback("b", on=a(["slow"]))]), "on: expected some of connection"),
    (lambda: agent(fallbacks=[Fallback("b", on=a("timeout"))]), "on: expected list or tuple or Set, got str"),
    (
        lambda: agent().run([CALLED]),
        r"messages\[0\].tool_calls\[0\].function.arguments.x: a object is not JSON",
    ),
    (lambda: agent(tools=1), r"got int; write tools=\[function, ...\]"),
    (lambda: agent(tools=TOOLS.surface), "ToolSurface cannot run tools; give the"),
    (
        lambda: agent(tools=AsyncPythonTools([order])).run("hi"),
        "tools: AsyncPythonTools is async; write await",
    ),
    (lambda: agent(approve=3), "got int; write approve=lambda name, arguments: True"),
    (
        lambda: Agent("m", endpoint=ScriptedEndpoint([ORDERS]), tools=TOOLS, approve=a(lambda *_: 3)).run(
            "hi"
        ),
        "approve: expected True, False, a reason or None, got int",
    ),
    (
        lambda: Agent("m", endpoint=ImmediateEndpoint(ENDPOINT)).run("hi"),
        "endpoint: ImmediateEndpoint is async; write await",
    ),
    (lambda: Agent("m", endpoint=a("http://h")), "got str; write base_url= for a"),
    (lambda: agent(base_url="http://h"), "base_url and endpoint are both given; give"),
    (lambda: Agent("m", api_key=a(3)), "api_key: expected str or Secret, got int"),
    (
        lambda: agent().run("hi", record="x", journal=MemoryJournal(PLAN)),
        "record and journal are both given; a recording has",
    ),
    (lambda: agent().plan(a(3)), "messages: expected a text, or a list of messages"),
    (
        lambda: Agent("m", endpoint=ScriptedEndpoint([saying("Hi.")])).run("hi").approve(),
        "rests at no call that needs approval: it is completed",
    ),
    (
        lambda: Agent("m", endpoint=ScriptedEndpoint([ORDERS]), tools=TOOLS).run("hi").deny(WRONG),
        "reason: expected str, got None",
    ),
    (
        lambda: PythonTools([order], deadline=inf),
        "deadline: expected a number of at least 0 or nothing, got inf",
    ),
    (lambda: PythonTools([order], deadline=nan), "deadline: .* got nan"),
    (lambda: PythonTools([order], deadline=-1), "deadline: .* got -1"),
    (lambda: AsyncPythonTools([order], deadline=a("x")), "deadline: .* got 'x'"),
    (lambda: McpTools([], deadline=-1), "deadline: .* got -1"),
    (lambda: PythonTools([order], on_error=a(3)), "on_error: expected a function of a call .* got int"),
    (lambda: Isolation(memory_bytes=-1), "memory_bytes: expected a whole number of at least 1 or nothing"),
    (lambda: Isolation(memory_bytes=a("x")), "memory_bytes: .* got 'x'"),
    (lambda: Isolation(environment=a({"FOO": "bar"})), "environment: expected a list of texts, got {"),
    (lambda: Isolation(environment=a("FOO")), "environment: expected a list of texts, got 'FOO'"),
    (
        lambda: Tool.of(order, isolated=a({"memory_bytes": 1})),
        "isolated: expected .*, got dict; write isolated=Isolation",
    ),
    (lambda: Tool.of(order, isolated=a(Isolation)), "isolated: expected .*, got the class Isolation"),
]


@pytest.mark.parametrize(("make", "words"), MISTAKES)
def test_a_mistake_is_told_where_it_is_made(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()


def test_what_has_no_signature_may_approve_all_the_same() -> None:
    assert repr(agent(approve=max)) == "Agent('m', endpoint=ScriptedEndpoint, tools=[])"
