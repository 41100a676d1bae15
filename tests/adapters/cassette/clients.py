"""Clients of every kind that ask within a session, each over the transport that the session gives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, cast

import anyio
import httpx
import httpx2
import pytest

from toolreel.cassette import Session

Send: TypeAlias = Callable[[Session, str, Sequence[object]], list[str]]
"""Send these bodies, one after another; returns what the model said."""


def word(tree: dict[str, list[dict[str, dict[str, str]]]]) -> str:
    return tree["choices"][0]["message"]["content"]


def by_httpx(session: Session, url: str, bodies: Sequence[object]) -> list[str]:
    with httpx.Client(transport=session.transport(), base_url=url) as client:
        return [word(client.post("/v1/chat/completions", json=body).json()) for body in bodies]


def by_httpx2(session: Session, url: str, bodies: Sequence[object]) -> list[str]:
    with httpx2.Client(transport=session.httpx2_transport(), base_url=url) as client:
        return [word(client.post("/v1/chat/completions", json=body).json()) for body in bodies]


async def by_async(session: Session, url: str, bodies: Sequence[object]) -> list[str]:
    async with httpx.AsyncClient(transport=session.async_transport(), base_url=url) as client:
        return [word((await client.post("/v1/chat/completions", json=body)).json()) for body in bodies]


async def by_async2(session: Session, url: str, bodies: Sequence[object]) -> list[str]:
    async with httpx2.AsyncClient(transport=session.async_httpx2_transport(), base_url=url) as client:
        return [word((await client.post("/v1/chat/completions", json=body)).json()) for body in bodies]


def waiting(send: Callable[..., Awaitable[list[str]]], backend: str) -> Send:
    return cast("Send", lambda *given: anyio.run(partial(send, *given), backend=backend))


each_client = pytest.mark.parametrize(
    "send",
    [
        by_httpx,
        by_httpx2,
        waiting(by_async, "asyncio"),
        waiting(by_async, "trio"),
        waiting(by_async2, "asyncio"),
    ],
    ids=["httpx", "httpx2", "asyncio", "trio", "httpx2-asyncio"],
)
