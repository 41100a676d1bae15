"""What the tests of agents share: a shop with two tools, its scripts, and the ways to run an agent."""

# ruff: noqa: ANN401 - settings are whatever an agent takes
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

import trio

from toolreel import Agent, AgentRun, Run, tool
from toolreel._replay import Driver
from toolreel.stream_events import AgentEvent
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


def agent(*script: Any, **settings: Any) -> Agent[Any]:
    return Agent("m", endpoint=ScriptedEndpoint(script), **settings)


def results(run: Run) -> list[Any]:
    """What the model is told about its calls."""
    return [json.loads(str(each["content"])) for each in run.messages_as_dicts() if each["role"] == "tool"]


Events = list[AgentEvent[Any]]


class Way:
    """The blocking methods, or their async twins on one library."""

    def __init__(self, begin: Callable[[Callable[[], Coroutine[Any, Any, Any]]], Any] | None = None) -> None:
        self._begin = begin

    def run(self, of: object, method: str, *given: Any, **settings: Any) -> AgentRun[Any]:
        ended: AgentRun[Any] = (
            getattr(of, method)(*given, **settings)
            if self._begin is None
            else self._begin(lambda: getattr(of, f"a{method}")(*given, **settings))
        )
        return ended

    def begin(self, agent: Agent[Any], *given: Any, **settings: Any) -> AgentRun[Any]:
        return self.run(agent, "run", *given, **settings)

    def events(self, of: object, method: str, *given: Any, **settings: Any) -> Events:
        async def listed() -> Events:
            async with aclosing(getattr(of, f"a{method}")(*given, **settings)) as events:
                return [event async for event in events]

        found: Events = (
            list(getattr(of, method)(*given, **settings)) if self._begin is None else self._begin(listed)
        )
        return found


WAYS: dict[Driver, Way] = {
    "sync": Way(),
    "asyncio": Way(lambda begun: asyncio.run(begun())),
    "trio": Way(trio.run),
}

ON = [way.begin for way in WAYS.values()]
"""Runs an agent: blocking, on asyncio and on trio."""
