"""Requests to a server by each kind of endpoint: sync, and on both event loops."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import anyio
import pytest

from tests.servers.chat_server import asking
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest

Said: TypeAlias = ReplyReceived | RequestFailed
Ask: TypeAlias = Callable[..., list[Said]]
KINDS = (HttpEndpoint, AsyncHttpEndpoint)
ONE = (asking(),)


def sync(url: str, *asked: SendRequest, at_once: bool = False, **settings: Any) -> list[Said]:  # noqa: ANN401
    """Ask one request after another, or all at once; one where none is given."""
    with HttpEndpoint(url, **settings) as endpoint:
        if not at_once:
            return [endpoint.send(effect) for effect in asked or ONE]
        with ThreadPoolExecutor(len(asked)) as pool:
            return [*pool.map(endpoint.send, asked)]


def on(backend: str) -> Ask:
    """The same, awaited."""

    def ask(url: str, *asked: SendRequest, at_once: bool = False, **settings: Any) -> list[Said]:  # noqa: ANN401
        async def conversation() -> list[Said]:
            async with AsyncHttpEndpoint(url, **settings) as endpoint:
                if not at_once:
                    return [await endpoint.send(effect) for effect in asked or ONE]
                said: list[Said] = []

                async def one(effect: SendRequest) -> None:
                    said.append(await endpoint.send(effect))

                async with anyio.create_task_group() as group:
                    for effect in asked:
                        group.start_soon(one, effect)
                return said

        return anyio.run(conversation, backend=backend)

    return ask


WAYS: dict[str, Ask] = {"sync": sync, "asyncio": on("asyncio"), "trio": on("trio")}
each = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
both = pytest.mark.parametrize("ask", [WAYS["sync"], WAYS["asyncio"]], ids=["sync", "asyncio"])
"""Where trio can make no difference."""
