"""What a user's file looks like to mypy --strict and pyright: both check this module, and a test runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_type

from pydantic import BaseModel

from toolreel import (
    Agent,
    AgentRun,
    Always,
    LoopConfig,
    OutcomeError,
    Plan,
    Preset,
    PythonTools,
    SystemMessage,
    Tool,
    UserMessage,
    output_of,
    tool,
)
from toolreel.results import Resting, RunUsage
from toolreel.stream_events import RunEnded, TextDelta
from toolreel.testing import ScriptedEndpoint, saying
from toolreel_core import AssistantMessage, Json, Message, Outcome


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


async def price(part: str) -> float:
    """What a part costs."""
    return float(len(part))


@tool(needs_approval=True)
def order(part: str, count: int) -> str:
    """Order parts."""
    return f"{count} {part}"


def few(name: str, arguments: Mapping[str, Any]) -> bool | str:
    """A decision about a call."""
    return arguments["count"] < 10 or f"too many for {name}"


async def asked(name: str, arguments: Mapping[str, Any]) -> bool:
    """A decision that takes a while."""
    return bool(name and arguments)


def agents() -> list[Agent[str]]:
    """Agents with each kind of setting."""
    endpoint = ScriptedEndpoint([saying("Hi."), saying("Hi."), saying("Hi.")])
    return [
        Agent("m", endpoint=endpoint, tools=stock),
        Agent("m", endpoint=endpoint, tools=[stock, price, Tool.of(order)], approve=few),
        Agent("m", endpoint=endpoint, tools=(PythonTools([stock]), [order]), approve=Always()),
        Agent("m", endpoint=endpoint, approve=asked, config=LoopConfig(max_turns=3), preset=Preset()),
        Agent("m", base_url="http://127.0.0.1:9", api_key="none", headers={"X-Lab": "one"}),
        Agent("m", config={"max_turns": 3}, preset=["untrusted_content"], options={"temperature": 0}),
    ]


def main() -> AgentRun[str]:
    """What one does with a run."""
    agent = agents()[0]
    run = agent.run("hi").raise_for_outcome()
    assert_type(run, AgentRun[str])
    assert_type(run.text, str)
    assert_type(run.output, str)
    assert_type(run.usage, RunUsage)
    assert_type(run.cost, float | None)
    assert_type(run.messages, tuple[Message, ...])
    assert_type(run.outcome, Outcome | Resting)
    assert_type(agent.plan(UserMessage("hi")), Plan)
    again = agent.run([*run.messages, {"role": "user", "content": "And now?"}])
    last = agent.run([SystemMessage("Be brief."), AssistantMessage("Hi."), "Well?"])
    try:
        again.raise_for_outcome()
    except OutcomeError as error:
        assert_type(error.outcome, Outcome | Resting)
    return last


async def amain() -> AgentRun[str]:
    """The same, awaited."""
    run = await agents()[1].arun({"role": "user", "content": "hi"})
    return run if run.completed else await run.aapprove()


@dataclass
class Stock:
    """What is in stock."""

    part: str
    count: int


class Order(BaseModel):
    """What was ordered."""

    part: str


SCHEMA: Mapping[str, Json] = {"type": "array", "items": {"type": "integer"}}


def typed() -> list[object]:
    """Agents whose answers have a type."""
    endpoint = ScriptedEndpoint(
        [
            saying('{"part": "pin", "count": 4}'),
            saying('{"part": "shim"}'),
            saying('{"value": [1]}'),
            saying('{"value": [2]}'),
            saying('{"part": "nut", "count": 5}'),
            saying('{"part": "bolt", "count": 6}'),
            saying('{"part": "screw", "count": 7}'),
        ]
    )
    stocks = Agent("m", endpoint=endpoint, output=Stock)
    assert_type(stocks, Agent[Stock])
    first = stocks.run("?")
    assert_type(first, AgentRun[Stock])
    found: list[object] = [assert_type(first.output, Stock)]
    found.append(assert_type(Agent("m", endpoint=endpoint, output=Order).run("?").output, Order))
    found.append(assert_type(Agent("m", endpoint=endpoint, output=SCHEMA).run("?").output, Json))
    found.append(assert_type(Agent("m", endpoint=endpoint, output=list[int]).run("?").output, list[int]))
    named = Agent("m", endpoint=endpoint, output=output_of(Stock, name="stock"))
    found.append(assert_type(named.run("?").output, Stock))
    found.append(assert_type(first.reply("And bolts?").output, Stock))
    for event in stocks.stream("And screws?"):
        match event:
            case TextDelta(text=text):
                assert_type(text, str)
            case RunEnded(run=run):
                found.append(assert_type(run.output, Stock))
            case _:
                pass
    return found
