"""toolreel over httpx: ``run`` and ``arun``, each with one endpoint for all runs.

The tool runs where the loop runs, as it does in the loops by hand: there is no deadline to keep, and in async
runs it is async, since a function that may block would have a thread of its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

from benchmarks.peers.task import MODEL, PROMPT, stock
from toolreel import (
    AsyncPorts,
    AsyncPythonTools,
    Completed,
    LoopConfig,
    Plan,
    Ports,
    PythonTools,
    Tool,
    arun,
    run,
)
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.ports import AsyncEndpoint, Endpoint
from toolreel.results import Resting
from toolreel_core import Outcome

__all__ = ["aopened", "arunning", "opened", "running"]


async def astock(part: str, depot: str) -> str:
    """The tool, awaited."""
    return stock(part, depot)


TOOLS = PythonTools([stock], deadline=None)
ASYNC_TOOLS = AsyncPythonTools([Tool.of(astock, name="stock")], deadline=None)
PLAN = Plan.of(model=MODEL, messages=PROMPT, tools=TOOLS.surface, config=LoopConfig(max_turns=100_000))


def _text(outcome: Outcome | Resting) -> str:
    return outcome.content if isinstance(outcome, Completed) else repr(outcome)


def running(endpoint: Endpoint) -> Callable[[], str]:
    """Makes one run."""
    ports = Ports(endpoint, TOOLS)
    return lambda: _text(run(PLAN, ports).outcome)


def arunning(endpoint: AsyncEndpoint) -> Callable[[], Awaitable[str]]:
    """The same, awaited."""
    ports = AsyncPorts(endpoint, ASYNC_TOOLS)

    async def one() -> str:
        return _text((await arun(PLAN, ports)).outcome)

    return one


@contextmanager
def opened(base_url: str) -> Generator[Callable[[], str]]:
    """Runs one after another."""
    with HttpEndpoint(base_url) as endpoint:
        yield running(endpoint)


@asynccontextmanager
async def aopened(base_url: str) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """Runs in tasks."""
    async with AsyncHttpEndpoint(base_url) as endpoint:
        yield arunning(endpoint)
