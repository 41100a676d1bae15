"""What a user's file looks like to mypy --strict and pyright: both check this module, and a test runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

from toolreel import (
    Agent,
    Always,
    AssistantMessage,
    LoopConfig,
    Message,
    Outcome,
    OutcomeError,
    Plan,
    Preset,
    PythonTools,
    Resting,
    Run,
    RunUsage,
    SystemMessage,
    Tool,
    UserMessage,
    tool,
)
from toolreel.testing import ScriptedEndpoint, saying


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


def agents() -> list[Agent]:
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


def main() -> Run:
    """What one does with a run."""
    agent = agents()[0]
    run = agent.run("hi").raise_for_outcome()
    assert_type(run, Run)
    assert_type(run.text, str)
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


async def amain() -> Run:
    """The same, awaited."""
    run = await agents()[1].arun({"role": "user", "content": "hi"})
    return run if run.completed else await run.aapprove()
