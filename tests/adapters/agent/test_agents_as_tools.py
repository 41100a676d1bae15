"""Agents as tools of others: the outer record has answers and costs, a folder has the inner records."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from tests.adapters.agent.shop import ON, agent, order, results
from tests.adapters.tools.test_typed_output import Point
from tests.patience import HANG
from toolreel import Agent, AgentRun, Spent
from toolreel.testing import Lost, calling, saying
from toolreel_core.outcomes import BudgetSpent, ConversationSpent, CostUnknown

ASKS = calling(("ask_agent", {"prompt": "How many pins?"}))


async def weigh(part: str) -> int:
    """What a part weighs."""
    return len(part)


def rest() -> None:
    """Rest for long: as long as any test waits."""
    time.sleep(HANG)


def using(answer: object) -> object:
    """A reply for which the provider counts tokens."""
    assert isinstance(answer, dict)
    return {**answer, "usage": {"prompt_tokens": 30, "completion_tokens": 5, "cost": 0.5}}


@pytest.mark.parametrize("run", ON)
def test_the_result_has_the_answer_and_the_outer_run_pays(run: Callable[..., AgentRun[Any]]) -> None:
    inner = agent(using(saying("Four.")), instructions="Count parts.")
    outer = agent(using(ASKS), using(saying("There are four.")), tools=[inner.as_tool()])
    ended = run(outer, "Pins?")
    assert [result["data"] for result in results(ended)] == [{"answer": "Four."}]
    assert ended.text == "There are four."
    assert (ended.usage.prompt_tokens, ended.usage.completion_tokens, ended.cost) == (90, 15, 1.5)
    assert ended.state.tally.by_tools == Spent(30, 5, 0.5)
    (definition,) = outer.plan("?").tools.definitions
    assert (definition.name, definition.description) == ("ask_agent", "Count parts.")


@pytest.mark.parametrize("run", ON[1:])
def test_an_agent_that_needs_async_is_an_async_tool(run: Callable[..., AgentRun[Any]]) -> None:
    inner = agent(calling(("weigh", {"part": "pin"})), saying("Three."), tools=[weigh])
    ended = run(agent(ASKS, saying("Three."), tools=[inner.as_tool()]), "Pins?")
    assert results(ended)[0]["data"]["answer"] == "Three."


def test_a_typed_answer_is_told_as_its_value() -> None:
    inner = agent(saying('{"value": [4]}'), output=list[int])
    ended = agent(ASKS, saying("Four."), tools=[inner.as_tool()]).run("Pins?")
    assert results(ended)[0]["data"]["answer"] == [4]


@pytest.mark.parametrize(
    ("script", "settings", "code"),
    [
        ([Lost("connect", "down")], {"config": {"max_tries": 1}}, "AGENT_DID_NOT_ANSWER"),
        ([calling(("order", {"part": "pin"}))], {"tools": [order]}, "AGENT_RESTS"),
        ([saying('{"x": 13}')], {"output": Point}, "AGENT_DID_NOT_ANSWER"),
        ([saying('{"x": 13}')], {"output": Point}, "no 13, please"),
        ([saying('{"value": "nope"}')], {"output": date}, "expected a date such as"),
    ],
)
def test_a_run_without_an_answer_is_an_error_of_the_call(
    script: list[Any], settings: dict[str, Any], code: str
) -> None:
    inner = agent(*script, **settings)
    ended = agent(ASKS, saying("I don't know."), tools=[inner.as_tool()]).run("Pins?")
    assert [code in json.dumps(result) for result in results(ended)] == [True]


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_an_inner_agent_is_not_asked_nothing(prompt: str) -> None:
    asks = calling(("ask_agent", {"prompt": prompt}))
    ended = agent(asks, saying("OK."), tools=[agent().as_tool()]).run("Pins?")
    (error,) = results(ended)[0]["errors"]
    assert (error["code"], "write what the" in error["message"]) == ("ARGUMENT_ERROR", True)


@pytest.mark.parametrize("run", ON)
@pytest.mark.parametrize("limit", ["max_cost", "max_conversation_cost"])
def test_a_limit_of_costs_holds_for_the_whole_tree(run: Callable[..., AgentRun[Any]], limit: str) -> None:
    def outer(inner: Agent[Any], cost: float) -> Agent[Any]:
        config = {limit: cost, "reports_cost": "yes"}
        return agent(using(ASKS), using(saying("Four.")), tools=[inner.as_tool()], config=config)

    assert run(outer(agent(using(saying("Four."))), 1.1), "Pins?").text == "Four."
    spent = run(outer(agent(using(saying("Four."))), 1.0), "Pins?")
    assert isinstance(spent.outcome, BudgetSpent if limit == "max_cost" else ConversationSpent)
    unknown = run(outer(agent(saying("Four.")), 10.0), "Pins?")
    assert unknown.outcome == CostUnknown(1, 10.0)
    assert unknown.cost is None


@pytest.mark.parametrize("run", ON)
def test_an_inner_run_that_its_deadline_ends_makes_the_cost_unknown(
    run: Callable[..., AgentRun[Any]],
) -> None:
    slow = agent(using(calling(("rest", {}))), saying("Late."), tools=[rest])
    outer = agent(using(ASKS), using(saying("No.")), tools=[slow.as_tool(deadline_ms=200)])
    ended = run(outer, "Pins?")
    assert "TOOL_TIMEOUT" in json.dumps(results(ended))
    assert ended.state.tally.by_tools == Spent()
    assert (ended.text, ended.cost) == ("No.", None)
