"""First attempts: each works, or says in one sentence what to write, before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from inspect import iscoroutine
from typing import Any, cast

import pytest

from tests.adapters.driver.immediate import ImmediateEndpoint, ImmediateTools
from tests.samples import complaint
from toolreel import (
    Agent,
    AsyncPorts,
    AsyncPythonTools,
    Completed,
    ConfigError,
    LoopConfig,
    Plan,
    Ports,
    PythonTools,
    ago_on,
    aperform,
    arun,
    aspeak,
    astream,
    astream_on,
    go_on,
    perform,
    run,
    speak,
    stream,
    stream_on,
    tool,
)
from toolreel.errors import ProtocolError
from toolreel.testing import ScriptedEndpoint, ScriptedTools, calling, saying
from toolreel_core import (
    AskApproval,
    Finish,
    pending,
    start,
    step,
)
from toolreel_core.tools import masked


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


def price(part: str) -> int:
    """What a part costs."""
    return len(part)


TOOLS = PythonTools([stock])
PLAIN = Plan.of(model="m", messages=[{"role": "user", "content": "hi"}])
PLANNED = Plan.of(model="m", messages="hi", tools=TOOLS.surface)
HI = saying("Hi.")


def scripted() -> ScriptedEndpoint:
    return ScriptedEndpoint([HI])


def aendpoint() -> ImmediateEndpoint:
    return ImmediateEndpoint(scripted())


def test_an_endpoint_alone_will_do_for_a_plan_without_tools() -> None:
    assert run(PLAIN, scripted()).outcome == run(PLAIN, Ports(scripted())).outcome == Completed("Hi.")
    assert asyncio.run(arun(PLAIN, aendpoint())).outcome == Completed("Hi.")
    assert asyncio.run(arun(PLAIN, AsyncPorts(aendpoint()))).outcome == Completed("Hi.")


def test_calls_without_tools_fail_as_not_implemented() -> None:
    enough = Plan.of(
        model="m", messages="hi", tools=TOOLS.surface, config=LoopConfig(tool_use_mode="disabled")
    )
    assert run(enough, scripted()).outcome == Completed("Hi.")


def test_a_host_of_ones_own_need_not_say_what_it_has() -> None:
    endpoint = ScriptedEndpoint([calling(("stock", {"part": "pin"})), HI])
    assert run(PLANNED, Ports(endpoint, ScriptedTools({"stock": [3]}))).completed


def test_a_host_may_have_more_than_a_plan_offers_and_a_mask_may_leave_none() -> None:
    both = PythonTools([stock, price])
    assert run(PLANNED, Ports(scripted(), both)).completed
    none = Plan.of(model="m", messages="hi", tools=masked(both.surface, deny=["*"]))
    assert run(none, Ports(scripted(), both)).completed


def test_tools_that_the_plan_does_not_offer_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"the ports have tools \(stock\), and the plan offers none"):
        assert run(PLAIN, Ports(scripted(), TOOLS)).completed


def untyped(function: Callable[..., object]) -> Callable[..., Any]:
    """As a caller without a type checker writes it."""
    return cast("Callable[..., Any]", function)


def on_loop(function: Callable[..., object], *given: object) -> object:
    return asyncio.run(untyped(function)(*given))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (
            lambda: run(PLANNED, scripted()),
            "the plan has tools (stock), and Ports has none to run them; write Ports(endpoint, tools)",
        ),
        (
            lambda: run(PLANNED, Ports(scripted(), PythonTools([price]))),
            "the plan has tools (stock) that PythonTools does not have; write "
            "Plan.of(..., tools=host.surface) with the host that you give the ports",
        ),
        (
            lambda: untyped(Ports)(scripted(), [stock]),
            "tools: expected a tool host, got list; write PythonTools([function, ...])",
        ),
        (
            lambda: untyped(Plan.of)(model="m", messages="hi", tools=[stock]),
            "tools: expected definitions, got function; write tools=PythonTools([function, ...]).surface",
        ),
        (
            lambda: untyped(Plan)(model="m", messages="hi"),
            "messages: Plan(...) takes it only in its final form; write Plan.of(...)",
        ),
        (
            lambda: on_loop(arun, Agent("m", endpoint=scripted()), "hi"),
            "arun: expected a Plan, got Agent; an agent runs itself: agent.arun(prompt)",
        ),
        (
            lambda: untyped(run)(PLAIN, "http://127.0.0.1"),
            "run: expected ports, got str; write Ports(endpoint, tools)",
        ),
        (
            lambda: untyped(run)(PLAIN, AsyncPorts(aendpoint())),
            "run: AsyncPorts is async; write await arun(...)",
        ),
        (
            lambda: on_loop(arun, PLAIN, Ports(scripted())),
            "arun: Ports is not async; write AsyncPorts(...), or run(...)",
        ),
        (
            lambda: untyped(run)(PLANNED, untyped(Ports)(scripted(), AsyncPythonTools([stock]))),
            "tools: AsyncPythonTools is async; write AsyncPorts(...) and await arun(...)",
        ),
        (
            lambda: on_loop(arun, PLANNED, untyped(AsyncPorts)(aendpoint(), TOOLS)),
            "tools: PythonTools is not async; take its async version, or Ports and run()",
        ),
    ],
)
def test_a_first_attempt_that_cannot_work_says_what_to_write(
    attempt: Callable[[], object], words: str
) -> None:
    assert complaint(ConfigError, attempt) == words


BEGUN = start(PLAIN).state


@pytest.mark.parametrize(
    ("sync", "given", "asynchronous"),
    [
        (run, [PLAIN], arun),
        (go_on, [BEGUN], ago_on),
        (speak, [BEGUN, "more"], aspeak),
        (stream, [PLAIN], astream),
        (stream_on, [BEGUN], astream_on),
        (perform, [pending(BEGUN)[0]], aperform),
    ],
)
def test_each_function_refuses_ports_of_the_other_kind(
    sync: Callable[..., Any], given: list[object], asynchronous: Callable[..., Any]
) -> None:
    name, twin = sync.__name__, asynchronous.__name__
    write = f"{twin}(...)" if "stream" in name else f"await {twin}(...)"
    for ports, words in (
        (AsyncPorts(aendpoint()), f"{name}: AsyncPorts is async; write {write}"),
        (
            Ports(untyped(aendpoint)()),
            f"endpoint: ImmediateEndpoint is async; write AsyncPorts(...) and {write}",
        ),
    ):
        assert complaint(ConfigError, partial(sync, *given, ports)) == words

    def awaited(ports: object) -> object:
        # A stream is refused as soon as it is made.
        made = asynchronous(*given, ports)
        return asyncio.run(made) if iscoroutine(made) else made

    instead = "take its async version, or Ports and"
    for ports, words in (
        (Ports(scripted()), f"{twin}: Ports is not async; write AsyncPorts(...), or {name}(...)"),
        (untyped(AsyncPorts)(scripted()), f"endpoint: ScriptedEndpoint is not async; {instead} {name}()"),
    ):
        assert complaint(ConfigError, partial(awaited, ports)) == words


def test_an_async_port_may_be_a_plain_function_that_returns_an_awaitable() -> None:
    class Delegating:
        def send(self, effect: Any) -> Any:  # noqa: ANN401 - as people write it
            return aendpoint().send(effect)

    tools = ImmediateTools(ScriptedTools({}))
    assert asyncio.run(arun(PLAIN, AsyncPorts(Delegating(), tools))).completed


@tool(needs_approval=True)
def order(part: str) -> str:
    """Order a part."""
    return f"{part} ordered"


ORDERING = PythonTools([stock, order])
ORDER = Plan.of(model="m", messages="hi", tools=ORDERING.surface)


def test_a_decision_that_is_open_is_no_event() -> None:
    ports = Ports(ScriptedEndpoint([calling(("order", {"part": "pin"}))]), ORDERING)
    begun = start(ORDER).state
    called = perform(pending(begun)[0], ports)
    assert called is not None
    (question,) = pending(step(begun, called).state)
    assert isinstance(question, AskApproval)
    assert perform(question, ports) is None


def test_the_end_of_a_run_is_nothing_to_perform() -> None:
    why = complaint(ProtocolError, lambda: perform(Finish(Completed("Hi.")), scripted()))
    assert why == "Finish: nothing is left to perform; the run ended with state.outcome"
