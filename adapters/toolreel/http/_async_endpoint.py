"""The endpoint over HTTP for asyncio and trio: :mod:`toolreel.http._endpoint`, awaited."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from toolreel._driver.ports import Listener
from toolreel._errors import MissingExtra
from toolreel.http._bounded_body import Stalled, TooLarge, UndecodableBody
from toolreel.http._exchange import DEADLINE, MAX_RESPONSE_BYTES, STALL_TIMEOUT, Address, broken
from toolreel.http._httpx_exchange import TIMEOUT, AsyncStateless, Requests, headers_of, lost
from toolreel.http._response import Intake
from toolreel.http._transports import CONNECTIONS, AnyProxy, async_transport
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["AsyncHttpEndpoint"]


class AsyncHttpEndpoint:
    """Any server that speaks chat completions.

    :param base_url: with or without ``/v1``
    :param api_key_env: name of the environment variable that holds the key; the key is sent as a
        bearer token and stands in no record
    :param timeout: httpx's timeouts, in seconds
    :param max_response_bytes: decoded bytes after which a response is given up as ``too_large``
    :param stall_timeout: seconds after which a stream is given up in which the model says nothing,
        however often the server says that it is still there
    :param deadline: seconds after which a response is given up, even if more of it comes
    :param on_delta: is shown each piece of a reply as it comes
    :param now: a clock that never goes back, in seconds
    :param transport: an httpx transport, for example a cassette, or an httpx client with its hooks, auth and
        proxies, used as is; the endpoint closes the transport, you close the client. The default is a client
        over httpx's own transports
    :param proxy: URL of a proxy, for the default transport; else the one that the environment names
    :param http2: whether to speak HTTP/2 where the server does; needs the extra ``http2``
    :param connections: maximum number of concurrent requests; further requests wait
    """

    def __init__(  # noqa: PLR0913 - every setting of an endpoint has its name
        self,
        base_url: str,
        *,
        api_key_env: str | None = None,
        timeout: httpx.Timeout | float = TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        stall_timeout: float = STALL_TIMEOUT,
        deadline: float = DEADLINE,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        transport: httpx.AsyncBaseTransport | httpx.AsyncClient | None = None,
        proxy: AnyProxy | None = None,
        http2: bool = False,
        connections: int = CONNECTIONS,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.address = Address.of(base_url, api_key_env, environ)
        self._intake = Intake(max_response_bytes, stall_timeout, on_delta, now, deadline)
        if transport is None:
            transport = async_transport(self.address.url, proxy=proxy, http2=http2, connections=connections)
        self._ours = not isinstance(transport, httpx.AsyncClient)
        self._client = (
            transport if isinstance(transport, httpx.AsyncClient) else AsyncStateless(transport=transport)
        )
        self._requests = Requests(self._client, self.address, timeout, stall_timeout, ours=self._ours)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply; every transport error becomes an event."""
        try:
            response = await self._client.send(self._requests.of(effect.request), stream=True)
            try:
                return await self._read(effect, response)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            return lost(effect.ref, error)
        except TooLarge as error:  # from a transport that records, which reads the body itself
            return broken(effect.ref, None, error)

    async def _read(self, effect: SendRequest, response: httpx.Response) -> ReplyReceived | RequestFailed:
        chunks = response.aiter_bytes() if response.is_stream_consumed else response.aiter_raw()
        try:
            incoming = self._intake.of(effect, response.status_code, headers_of(response))
            async for chunk in chunks:
                incoming.take(chunk)
                if incoming.over:
                    await _hang_up(response, chunks)
                    break
            return incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            await _hang_up(response, chunks)
            return broken(effect.ref, response.status_code, error)

    async def aclose(self) -> None:
        """Close the connections; a client of yours stays open."""
        if self._ours:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()


async def _hang_up(response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
    """Close the response, then end the generators under it: trio warns of those that are dropped half-way."""
    await response.aclose()
    with suppress(httpx.HTTPError, httpx.StreamError):
        [_ async for _ in chunks]
