"""What the tests of agents share: a shop with two tools, its scripts, and the ways to run an agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import trio

from toolreel import Agent, AgentRun, Run, tool
from toolreel.testing import ScriptedEndpoint, calling


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return {"pin": 4, "shim": 0}[part]


@tool(needs_approval=True)
def order(part: str, count: int = 1) -> str:
    """Order a part."""
    return f"{count} {part} ordered"


ASKS = calling(("stock", {"part": "pin"}))
ORDERS = calling(("order", {"part": "pin", "count": 2}))


def agent(*script: Any, **settings: Any) -> Agent[Any]:  # noqa: ANN401 - whatever an agent takes
    return Agent("m", endpoint=ScriptedEndpoint(script), **settings)


def results(run: Run) -> list[Any]:
    """What the model is told about its calls."""
    return [json.loads(str(each["content"])) for each in run.messages_as_dicts() if each["role"] == "tool"]


ON: list[Callable[..., AgentRun[Any]]] = [
    lambda agent, *given, **settings: agent.run(*given, **settings),
    lambda agent, *given, **settings: asyncio.run(agent.arun(*given, **settings)),
    lambda agent, *given, **settings: trio.run(partial(agent.arun, *given, **settings)),
]
"""Runs an agent: blocking, on asyncio and on trio."""
