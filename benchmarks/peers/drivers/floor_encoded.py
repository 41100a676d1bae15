"""The least that a loop over httpx can do: each message is encoded once, and a body is joined from them."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import httpx

from benchmarks.peers.drivers.floor_json import HEADERS, TOOLS
from benchmarks.peers.task import MODEL, PROMPT, stock

__all__ = ["aopened", "opened"]

JSON = {**HEADERS, "content-type": "application/json"}


def _encoded(tree: object) -> bytes:
    return json.dumps(tree, separators=(",", ":")).encode()


BEFORE = b'{"model":%b,"messages":[' % _encoded(MODEL)
BEHIND = b'],"tools":%b}' % _encoded(TOOLS)
ASKED = _encoded({"role": "user", "content": PROMPT})


def _body(messages: list[bytes]) -> bytes:
    return b"%b%b%b" % (BEFORE, b",".join(messages), BEHIND)


def _answered(messages: list[bytes], response: httpx.Response) -> str | None:
    """Take a reply in and run its calls; the final text if there are none."""
    message = json.loads(response.raise_for_status().content)["choices"][0]["message"]
    messages.append(_encoded(message))
    for call in message.get("tool_calls") or ():
        result = stock(**json.loads(call["function"]["arguments"]))
        messages.append(_encoded({"role": "tool", "tool_call_id": call["id"], "content": result}))
    return None if message.get("tool_calls") else str(message["content"])


@contextmanager
def opened(base_url: str) -> Generator[Callable[[], str]]:
    """Runs one after another."""
    url = f"{base_url}/chat/completions"
    with httpx.Client(headers=JSON, timeout=60) as client:

        def one() -> str:
            messages = [ASKED]
            while (text := _answered(messages, client.post(url, content=_body(messages)))) is None:
                pass
            return text

        yield one


@asynccontextmanager
async def aopened(base_url: str) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """Runs in tasks, with a client each: one for all would look through all its connections each time."""
    url = f"{base_url}/chat/completions"
    context = ssl.create_default_context()

    async def one() -> str:
        messages = [ASKED]
        async with httpx.AsyncClient(headers=JSON, timeout=60, verify=context) as client:
            while (text := _answered(messages, await client.post(url, content=_body(messages)))) is None:
                pass
        return text

    yield one
