"""The endpoint over pyreqwest for asyncio: the async version of :mod:`toolreel.http.fast._endpoint`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyreqwest.exceptions import PyreqwestError

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
    content_length,
    lost,
    target,
)
from toolreel.http.fast._waiting import on_asyncio
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

if TYPE_CHECKING:
    from pyreqwest.response import Response


class AsyncFastEndpoint:
    """An endpoint for any OpenAI-compatible chat completions API, over a client in Rust (asyncio only).

    Its traffic cannot be recorded, and the pytest plugin cannot block it in tests that replay.

    :param base_url: base URL of the API, with or without ``/v1``, for example ``http://127.0.0.1:8080``
    :param api_key_env: name of the environment variable that holds the API key; the key is sent as a bearer
        token and is never recorded. ``None`` sends no key
    :param timeout: read timeout, in seconds
    :param connect_timeout: connect timeout, in seconds
    :param max_response_bytes: maximum size of a response body in bytes, decompressed; a larger one fails as
        ``too_large``
    :param stall_timeout: seconds without text or tool calls from the model after which a stream fails as
        ``timeout``; keep-alive comments of the server do not count
    :param deadline: seconds after which a response that is still arriving fails as ``timeout``
    :param on_delta: callback for each piece of a reply, as it arrives
    :param now: monotonic clock, in seconds
    :param http2: whether to offer HTTP/2
    :param connections: maximum number of concurrent requests; further requests wait
    :param environ: environment in which ``api_key_env`` is looked up
    :raises EndpointConfigError: if the URL or a setting is invalid, or the key's variable is not set
    """

    def __init__(  # noqa: PLR0913 - settings are keyword arguments
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
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        client = self.clients.get(streamed=effect.request.streamed)
        builder = client.post(self._url).body_bytes(effect.request.body.encode())
        request = builder.streamed_read_buffer_limit(PIECE).build_streamed()
        try:
            async with request as response:
                return await self._read(effect, response)
        except PyreqwestError as error:
            return lost(effect.ref, error)

    async def _read(self, effect: SendRequest, response: Response) -> ReplyReceived | RequestFailed:
        reader = response.body_reader
        try:
            incoming = self._intake.of(effect, response.status, response.headers)
            # Waiting for the end of a body that is complete would cost another switch of threads.
            remaining = content_length(response)
            while remaining and not incoming.over:
                chunk = await reader.read_chunk()
                if chunk is None:
                    break
                incoming.take(chunk.to_bytes())
                remaining -= len(chunk)
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
