"""Agents as tools of others: the outer record has the answers, a folder has the inner records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from toolreel import Agent, AgentRun, read_journal, replay, tool
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying

ASKS = calling(("ask_agent", {"prompt": "How many pins?"}))
ON: list[Callable[..., AgentRun[Any]]] = [
    lambda agent, *given, **settings: agent.run(*given, **settings),
    lambda agent, *given, **settings: asyncio.run(agent.arun(*given, **settings)),
    lambda agent, *given, **settings: trio.run(partial(agent.arun, *given, **settings)),
]


async def weigh(part: str) -> int:
    """What a part weighs."""
    return len(part)


@tool(needs_approval=True)
def order(part: str) -> str:
    """Order a part."""
    return part


def agent(*script: Any, **settings: Any) -> Agent[Any]:  # noqa: ANN401 - whatever an agent takes
    return Agent("m", endpoint=ScriptedEndpoint(script), **settings)


def told(run: AgentRun[Any]) -> list[dict[str, Any]]:
    """What the outer model is told about its calls."""
    return [json.loads(str(each["content"])) for each in run.messages_as_dicts() if each["role"] == "tool"]


def using(answer: object) -> object:
    """A reply for which the provider counts tokens."""
    assert isinstance(answer, dict)
    return {**answer, "usage": {"prompt_tokens": 30, "completion_tokens": 5, "cost": 0.5}}


@pytest.mark.parametrize("run", ON)
def test_the_result_has_the_answer_and_what_it_took(run: Callable[..., AgentRun[Any]]) -> None:
    inner = agent(using(saying("Four.")), instructions="Count parts.")
    outer = agent(ASKS, saying("There are four."), tools=[inner.as_tool()])
    ended = run(outer, "Pins?")
    took = {"turns": 1, "prompt_tokens": 30, "completion_tokens": 5, "cost": 0.5}
    assert [result["data"] for result in told(ended)] == [{"answer": "Four.", "took": took}]
    assert ended.text == "There are four."
    (definition,) = outer.plan("?").tools.definitions
    assert (definition.name, definition.description) == ("ask_agent", "Count parts.")


@pytest.mark.parametrize("run", ON[1:])
def test_an_agent_that_needs_async_is_an_async_tool(run: Callable[..., AgentRun[Any]]) -> None:
    inner = agent(calling(("weigh", {"part": "pin"})), saying("Three."), tools=[weigh])
    ended = run(agent(ASKS, saying("Three."), tools=[inner.as_tool()]), "Pins?")
    assert told(ended)[0]["data"]["answer"] == "Three."


def test_a_typed_answer_is_told_as_its_value() -> None:
    inner = agent(saying('{"value": [4]}'), output=list[int])
    ended = agent(ASKS, saying("Four."), tools=[inner.as_tool()]).run("Pins?")
    assert told(ended)[0]["data"]["answer"] == [4]


@pytest.mark.parametrize(
    ("script", "settings", "code"),
    [
        ([Lost("connect", "down")], {"config": {"max_tries": 1}}, "AGENT_DID_NOT_ANSWER"),
        ([calling(("order", {"part": "pin"}))], {"tools": [order]}, "AGENT_RESTS"),
    ],
)
def test_a_run_without_an_answer_is_an_error_of_the_call(
    script: list[Any], settings: dict[str, Any], code: str
) -> None:
    inner = agent(*script, **settings)
    ended = agent(ASKS, saying("I don't know."), tools=[inner.as_tool()]).run("Pins?")
    assert [code in json.dumps(result) and "took" in json.dumps(result) for result in told(ended)] == [True]


@pytest.mark.parametrize("run", ON)
def test_the_outer_recording_replays_alone_and_names_the_inner_ones(
    run: Callable[..., AgentRun[Any]], tmp_path: Path
) -> None:
    inner = agent(saying("Four."), saying("Five."))
    asks = inner.as_tool(record=tmp_path / "inner")
    outer = agent(ASKS, saying("There are four."), tools=[asks])
    ended = run(outer, "Pins?", record=tmp_path / "outer")
    assert replay(tmp_path / "outer").run.state == ended.state
    (path,) = (tmp_path / "inner").iterdir()
    key = path.name.removesuffix(".journal.jsonl")
    assert replay(tmp_path / "inner" / key).run.text == "Four."
    assert read_journal(path).plan.messages == inner.plan("How many pins?").messages
    again = agent(ASKS, saying("There are five."), tools=[asks])
    assert told(run(again, "Pins?"))[0]["data"]["answer"] == "Five."
    names = sorted(each.name for each in (tmp_path / "inner").iterdir())
    assert names == [f"{key}-2.journal.jsonl", f"{key}.journal.jsonl"]
