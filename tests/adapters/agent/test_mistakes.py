"""Mistakes of a first program: each is told where it is made, with what to write, before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, cast

import pytest

from toolreel import (
    Agent,
    Always,
    AsyncPorts,
    ConfigError,
    Fallback,
    Plan,
    Ports,
    UserMessage,
    arun,
    astream,
    go_on,
    run,
    speak,
    stream,
)
from toolreel.http import HttpEndpoint
from toolreel.testing import ScriptedEndpoint

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


def agent(**settings: object) -> Agent[Any]:
    return Agent("m", endpoint=ENDPOINT, **cast("Any", settings))


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "an empty prompt": (lambda: agent().run(""), "the prompt is empty; write what the user says"),
    "a blank prompt": (lambda: agent().run("  \n"), "the prompt is empty"),
    "an empty prompt after others": (lambda: agent().run(["hi", UserMessage("")]), "the prompt is empty"),
    "an agent without a model": (lambda: Agent(WRONG, endpoint=ENDPOINT), "model: expected a text, got None"),
    "an agent of a blank model": (lambda: Agent(" ", endpoint=ENDPOINT), "expected the name of a model"),
    "an agent's seed": (lambda: agent(seed="x"), "seed: expected a whole number, got str"),
    "a misspelt setting": (lambda: agent(config={"max_turn": 3}), "'max_turn'.*max_turns"),
    "a setting in letters": (lambda: agent(config={"max_turns": "3"}), "max_turns: expected a whole number"),
    "a misspelt setting of a fallback": (
        lambda: agent(fallbacks=[Fallback("b", config={"max_turn": 3})]),
        r"fallbacks\[0\]: .*'max_turn'",
    ),
    "a prompt instead of a plan": (
        lambda: run(a("hi"), ENDPOINT),
        r"run: expected a Plan, got str; write run\(Plan.of\(model=..., messages='hi'\), ...\)",
    ),
    "the same, async": (lambda: asyncio.run(arun(a("hi"), AsyncPorts(a(Lazy())))), "arun: expected"),
    "the same, streamed": (lambda: stream(a("hi"), ENDPOINT), "expected a Plan, got str"),
    "the same, streamed and async": (lambda: astream(a("hi"), AsyncPorts(a(Lazy()))), "expected a Plan"),
    "an agent instead of a plan": (lambda: run(a(agent()), ENDPOINT), r"agent.run\(prompt\)"),
    "a run instead of its state": (lambda: go_on(a(PLAN), Ports(ENDPOINT)), "got Plan; write run.state"),
    "a text instead of a run": (lambda: speak(a("hi"), "x", Ports(ENDPOINT)), "got str; write run.state"),
    "ports of a URL": (lambda: Ports(a("http://x")), r"got str; write HttpEndpoint\(base_url\)"),
    "ports of a class": (lambda: Ports(a(HttpEndpoint)), "got the class HttpEndpoint"),
    "an approver that is a function": (
        lambda: Ports(ENDPOINT, approver=a(lambda *_: True)),
        r"approver: expected an approver, got function; write Always\(\)",
    ),
    "an approver that is a class": (lambda: Ports(ENDPOINT, approver=a(Always)), "got the class Always"),
    "a clock that is none": (lambda: Ports(ENDPOINT, clock=a(3)), r"clock: .* write SystemClock\(\)"),
    "an async approver that is none": (lambda: AsyncPorts(a(Lazy()), approver=a(3)), "expected an approver"),
    "approve without arguments": (lambda: agent(approve=lambda: True), "called with name and arguments"),
    "approve with one": (lambda: agent(approve=lambda call: call), "too many positional arguments"),
    "approve with three": (lambda: agent(approve=lambda x, y, z: (x, y, z)), "missing a required argument"),
    "approve is a class": (lambda: agent(approve=Always), "got the class Always"),
    "a journal that is a path": (
        lambda: agent().run("hi", journal=a("x")),
        r"journal: .* got str; write Mem",
    ),
    "the same in arun": (lambda: asyncio.run(agent().arun("hi", journal=a("x"))), "journal: .* got str"),
    "the same in stream": (lambda: agent().stream("hi", journal=a(3)), "journal: .* got int"),
    "a journal of a plan": (lambda: run(PLAN, ENDPOINT, journal=a("x")), "journal: .* got str"),
    "a streamed journal": (lambda: stream(PLAN, ENDPOINT, journal=a("x")), "journal: .* got str"),
    "an async one": (lambda: astream(PLAN, AsyncPorts(a(Lazy())), journal=a(3)), "journal: .* got int"),
    "an observer that is none": (
        lambda: agent().run("hi", observe=a(3)),
        "observe: expected a function of a note, got int",
    ),
    "an inbox that is a list": (lambda: agent().run("hi", inbox=a([])), r"got list; write inbox=Inbox\(\)"),
    "a record that is a number": (
        lambda: agent().run("hi", record=a(3)),
        "record: expected a text or a path",
    ),
    "overwrite in letters": (
        lambda: agent().run("hi", overwrite=a("no")),
        "overwrite: expected True or False",
    ),
    "an agent as a tool": (lambda: agent().as_tool(a(3)), "name: expected a text, got int"),
    "records of such a tool": (lambda: agent().as_tool(record=a(3)), "record: expected a text or a path"),
    "a preset that is a number": (
        lambda: agent(preset=3),
        "preset: expected a text or a path or a list or a",
    ),
    "presets with a number": (lambda: agent(preset=[3]), r"preset\[0\]: expected a name or a file, got int"),
    "options that are not JSON": (
        lambda: agent(options={"stop": [{1}]}),
        r"options.stop\[0\]: a set is not JSON",
    ),
    "options of a fallback": (
        lambda: agent(fallbacks=[Fallback("b", options=a({"n": object()}))]),
        r"fallbacks\[0\]: options.n: a object is not JSON",
    ),
    "a fallback's reasons": (
        lambda: agent(fallbacks=[Fallback("b", on=a(3))]),
        "on: expected a list, got int",
    ),
    "a reason that is none": (
        lambda: agent(fallbacks=[Fallback("b", on=a(["slow"]))]),
        "on: there is no reason 'slow'",
    ),
    "arguments that are not JSON": (
        lambda: agent().run([CALLED]),
        r"messages\[0\].tool_calls\[0\].function.arguments.x: a object is not JSON",
    ),
}


class Lazy:
    """An endpoint that is never asked."""

    async def send(self, effect: object) -> NoReturn:
        raise AssertionError(effect)


@pytest.mark.parametrize(("make", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_where_it_is_made(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()


def test_what_has_no_signature_may_approve_all_the_same() -> None:
    assert repr(agent(approve=max)) == "Agent('m', endpoint=ScriptedEndpoint, tools=[])"
