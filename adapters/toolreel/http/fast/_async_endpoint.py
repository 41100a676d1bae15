"""The endpoint over HTTP, with pyreqwest, for asyncio: :mod:`toolreel.http.fast._endpoint`, awaited."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from toolreel._driver.ports import Listener
from toolreel.http._bounded_body import Stalled, TooLarge, UndecodableBody
from toolreel.http._exchange import DEADLINE, MAX_RESPONSE_BYTES, STALL_TIMEOUT, Address, broken
from toolreel.http._response import Intake
from toolreel.http.fast._exchange import (
    CONNECT_TIMEOUT,
    CONNECTIONS,
    PIECE,
    TIMEOUT,
    AsyncFastClients,
    FastSettings,
    PyreqwestError,
    lost,
    target,
    told_length,
)
from toolreel.http.fast._waiting import on_asyncio
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

if TYPE_CHECKING:
    from pyreqwest.response import Response

__all__ = ["AsyncFastEndpoint"]


class AsyncFastEndpoint:
    """Any server that speaks chat completions, asked by a client in Rust, on asyncio.

    It cannot be recorded, and the pytest plugin, which lets no replayed test out, does not see it.

    :param base_url: with or without ``/v1``
    :param api_key_env: name of the environment variable that holds the key; the key is sent as a
        bearer token and stands in no record
    :param timeout: seconds of silence after which a reply is given up
    :param connect_timeout: seconds after which a server is given up that does not answer at all
    :param max_response_bytes: decoded bytes after which a response is given up as ``too_large``
    :param stall_timeout: seconds after which a stream is given up in which the model says nothing,
        however often the server says that it is still there
    :param deadline: seconds after which a response is given up, even if more of it comes
    :param on_delta: is shown each piece of a reply as it comes
    :param now: a clock that never goes back, in seconds
    :param http2: whether to speak HTTP/2 where the server does
    :param connections: how many requests may be under way at once; others wait for their turn
    """

    def __init__(  # noqa: PLR0913 - every setting of an endpoint has its name
        self,
        base_url: str,
        *,
        api_key_env: str | None = None,
        timeout: float = TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        stall_timeout: float = STALL_TIMEOUT,
        deadline: float = DEADLINE,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        http2: bool = False,
        connections: int = CONNECTIONS,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.address = Address.of(base_url, api_key_env, environ)
        self._url = target(self.address)
        self._intake = Intake(max_response_bytes, stall_timeout, on_delta, now, deadline)
        self.clients = AsyncFastClients(
            FastSettings(self.address, timeout, stall_timeout, connect_timeout, connections, http2)
        )

    @on_asyncio
    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply; every transport error becomes an event."""
        client = self.clients.asking(streamed=effect.request.streamed)
        asked = client.post(self._url).body_bytes(effect.request.body.encode())
        request = asked.streamed_read_buffer_limit(PIECE).build_streamed()
        try:
            async with request as response:
                return await self._read(effect, response)
        except PyreqwestError as error:
            return lost(effect.ref, error)

    async def _read(self, effect: SendRequest, response: Response) -> ReplyReceived | RequestFailed:
        reader = response.body_reader
        try:
            incoming = self._intake.of(effect, response.status, response.headers)
            lacking = told_length(response)
            while lacking and not incoming.over:
                chunk = await reader.read_chunk()
                if chunk is None:
                    break
                incoming.take(chunk.to_bytes())
                lacking -= len(chunk)
            return incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            return broken(effect.ref, response.status, error)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.clients.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()
