"""toolreel over the fast endpoint, which the extra ``fast`` brings; the rest is as over httpx."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module

from benchmarks.peers.drivers.toolreel import arunning, running

__all__ = ["aopened", "opened"]

SYNC, ASYNC = import_module("toolreel_adapters.fast"), import_module("toolreel_adapters.afast")


@contextmanager
def opened(base_url: str) -> Generator[Callable[[], str]]:
    """Runs one after another."""
    with SYNC.FastEndpoint(base_url) as endpoint:
        yield running(endpoint)


@asynccontextmanager
async def aopened(base_url: str) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """Runs in tasks."""
    async with ASYNC.AsyncFastEndpoint(base_url) as endpoint:
        yield arunning(endpoint)
