"""The endpoint over HTTP for asyncio and trio: :mod:`toolreel_adapters.http`, awaited."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from toolreel.effects import SendRequest
from toolreel.events import ReplyReceived, RequestFailed
from toolreel_adapters.bounded import BoundedDecoder, TooLarge, UndecodableBody
from toolreel_adapters.errors import MissingExtra
from toolreel_adapters.exchange import MAX_RESPONSE_BYTES, TIMEOUT, Address, answered, broken, lost

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
    :param transport: what carries requests, for example a cassette; the network by default
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key_env: str | None = None,
        timeout: httpx.Timeout | float = TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        transport: httpx.AsyncBaseTransport | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.address = Address.of(base_url, api_key_env, environ)
        self._limit = max_response_bytes
        self._client = httpx.AsyncClient(transport=transport, timeout=timeout)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply; every transport error becomes an event."""
        body = effect.request.body.encode()
        try:
            async with self._client.stream(
                "POST", self.address.url, content=body, headers=self.address.headers
            ) as response:
                return await self._read(effect.ref, response)
        except httpx.HTTPError as error:
            return lost(effect.ref, error)
        except TooLarge as error:  # from a transport that records, which reads the body itself
            return broken(effect.ref, None, error)

    async def _read(self, ref: int, response: httpx.Response) -> ReplyReceived | RequestFailed:
        chunks = response.aiter_raw()
        try:
            decoder = BoundedDecoder(response.headers.get("content-encoding", ""), self._limit)
            async for chunk in chunks:
                decoder.feed(chunk)
            return answered(ref, response.status_code, response.headers, decoder.finish())
        except (TooLarge, UndecodableBody) as error:
            await _hang_up(response, chunks)
            return broken(ref, response.status_code, error)

    async def aclose(self) -> None:
        """Close the connections."""
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
