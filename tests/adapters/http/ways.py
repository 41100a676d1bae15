"""Requests to a server by each kind of endpoint: sync, and on both event loops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import anyio
import pytest

from tests.servers.chat_server import asking
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest

__all__ = ["KINDS", "Ask", "Said", "each"]

Said: TypeAlias = ReplyReceived | RequestFailed
Ask: TypeAlias = Callable[..., list[Said]]
KINDS: Final = (HttpEndpoint, AsyncHttpEndpoint)
ONE: Final = (asking(),)


def sync(url: str, *asked: SendRequest, pause: float = 0.0, **settings: Any) -> list[Said]:  # noqa: ANN401
    """Ask one request after another, with a pause in which nothing else happens; one where none is given."""
    said: list[Said] = []
    with HttpEndpoint(url, **settings) as endpoint:
        for effect in asked or ONE:
            said.append(endpoint.send(effect))
            time.sleep(pause)
    return said


def on(backend: str) -> Ask:
    """The same, awaited; the pause holds up the loop too."""

    def ask(url: str, *asked: SendRequest, pause: float = 0.0, **settings: Any) -> list[Said]:  # noqa: ANN401
        async def conversation() -> list[Said]:
            said: list[Said] = []
            async with AsyncHttpEndpoint(url, **settings) as endpoint:
                for effect in asked or ONE:
                    said.append(await endpoint.send(effect))
                    time.sleep(pause)
            return said

        return anyio.run(conversation, backend=backend)

    return ask


WAYS: Final[dict[str, Ask]] = {"sync": sync, "asyncio": on("asyncio"), "trio": on("trio")}
each = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
