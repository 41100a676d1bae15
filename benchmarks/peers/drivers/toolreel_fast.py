"""toolreel over the fast endpoint, which the extra ``fast`` brings; the rest is as over httpx."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

from benchmarks.peers.drivers.toolreel import arunning, running
from toolreel.http.fast import AsyncFastEndpoint, FastEndpoint

__all__ = ["aopened", "opened"]


@contextmanager
def opened(base_url: str) -> Generator[Callable[[], str]]:
    """Runs one after another."""
    with FastEndpoint(base_url) as endpoint:
        yield running(endpoint)


@asynccontextmanager
async def aopened(base_url: str) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """Runs in tasks."""
    async with AsyncFastEndpoint(base_url) as endpoint:
        yield arunning(endpoint)
