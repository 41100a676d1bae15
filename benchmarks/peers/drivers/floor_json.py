"""A loop by hand, as most people begin: httpx, messages as dictionaries, all of them encoded in each turn."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from benchmarks.peers.task import KEY, MODEL, PROMPT, SCHEMA, TOOL, stock

__all__ = ["aopened", "opened"]

HEADERS = {"authorization": f"Bearer {KEY}"}
FUNCTION = {"name": TOOL, "description": "How many of a part are left in a depot.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]


def _body(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": MODEL, "messages": messages, "tools": TOOLS}


def _answered(messages: list[dict[str, Any]], response: httpx.Response) -> str | None:
    """Take a reply in and run its calls; the final text if there are none."""
    message = response.raise_for_status().json()["choices"][0]["message"]
    messages.append(message)
    for call in message.get("tool_calls") or ():
        result = stock(**json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return None if message.get("tool_calls") else message["content"]


@contextmanager
def opened(base_url: str) -> Generator[Callable[[], str]]:
    """Runs one after another."""
    url = f"{base_url}/chat/completions"
    with httpx.Client(headers=HEADERS, timeout=60) as client:

        def one() -> str:
            messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
            while (text := _answered(messages, client.post(url, json=_body(messages)))) is None:
                pass
            return text

        yield one


@asynccontextmanager
async def aopened(base_url: str) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """Runs in tasks, with one client."""
    url = f"{base_url}/chat/completions"
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(headers=HEADERS, timeout=60, limits=limits) as client:

        async def one() -> str:
            messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
            while (text := _answered(messages, await client.post(url, json=_body(messages)))) is None:
                pass
            return text

        yield one
