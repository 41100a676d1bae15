"""What carries requests over httpx: its transports, asked directly.

httpx's client merges settings, follows redirects and keeps cookies, none of which a chat completion needs, at
twice the cost of the exchange itself; and its pool looks at every connection for every request. So each
connection is a transport of its own here, with one request at a time, on an SSL context that all share. Who
brings a client (with hooks, auth, cookies) is served by it, who brings a transport (a cassette) by that.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Semaphore
from typing import Final

from toolreel_adapters.errors import EndpointConfigError, MissingExtra
from toolreel_adapters.exchange import Address, asent, length, sent
from toolreel_adapters.httpx_transports import KEPT, Transports

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["CONNECTIONS", "AsyncWire", "Wire"]

CONNECTIONS: Final = 1_000
"""How many requests an endpoint has under way at once; more wait for their turn."""


class Wire:
    """Where one endpoint's requests go.

    :param carrier: somebody's own client or transport; connections of our own by default
    :param http2: one connection for all requests, where the server speaks HTTP/2
    :raises EndpointConfigError: if the address, or the proxy that the environment names, cannot be used
    :raises MissingExtra: if HTTP/2 is wanted without the package that speaks it
    """

    def __init__(
        self,
        address: Address,
        carrier: httpx.BaseTransport | httpx.Client | None,
        *,
        http2: bool,
        connections: int,
    ) -> None:
        self._url, self._headers = _target(address)
        self._client = carrier if isinstance(carrier, httpx.Client) else None
        self._only = carrier if isinstance(carrier, httpx.BaseTransport) else None
        self._room = Semaphore(connections)
        self._idle: list[httpx.BaseTransport] = []
        self._closed = False
        self._transports = Transports(address.url, connections, http2=http2)
        if carrier is None:  # now, since it may find that a setting cannot be used
            self._idle.append(self._transports.one())
        if carrier is None and http2:
            self._only = self._idle.pop()

    @contextmanager
    def asked(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> Generator[httpx.Response]:
        """The response to a request, whose body has not been read yet.

        :param pieces: of the request's body
        :raises httpx.HTTPError: if there is none
        """
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if self._client is not None:
            headers = httpx.Headers({**self._headers, **length(pieces)})
            with self._client.stream(
                "POST", self._url, content=sent(pieces), headers=headers, timeout=patience
            ) as response:
                yield response
            return
        with self._room:
            transport = self._only or self._taken()
            try:
                response = transport.handle_request(_request(self._url, self._headers, pieces, patience))
                try:
                    yield response
                finally:
                    response.close()
            finally:
                self._leave(transport)

    def _taken(self) -> httpx.BaseTransport:
        try:
            return self._idle.pop()
        except IndexError:
            return self._transports.one()

    def _leave(self, transport: httpx.BaseTransport) -> None:
        """Keep a connection for the next request, unless there are enough of them."""
        if transport is self._only:
            return
        if self._closed or len(self._idle) >= KEPT:
            transport.close()
        else:
            self._idle.append(transport)

    def close(self) -> None:
        """Close the connections, and the transport that somebody brought; a client is left to its owner."""
        self._closed = True
        if self._only is not None:
            self._only.close()
        while self._idle:
            self._idle.pop().close()


class AsyncWire:
    """The same as :class:`Wire`, awaited."""

    def __init__(
        self,
        address: Address,
        carrier: httpx.AsyncBaseTransport | httpx.AsyncClient | None,
        *,
        http2: bool,
        connections: int,
    ) -> None:
        self._url, self._headers = _target(address)
        self._client = carrier if isinstance(carrier, httpx.AsyncClient) else None
        self._only = carrier if isinstance(carrier, httpx.AsyncBaseTransport) else None
        self._room = anyio.Semaphore(connections)
        self._idle: list[httpx.AsyncBaseTransport] = []
        self._closed = False
        self._transports = Transports(address.url, connections, http2=http2)
        if carrier is None:  # now, since it may find that a setting cannot be used
            self._idle.append(self._transports.async_one())
        if carrier is None and http2:
            self._only = self._idle.pop()

    @asynccontextmanager
    async def asked(
        self, pieces: tuple[bytes, ...], patience: httpx.Timeout
    ) -> AsyncGenerator[httpx.Response]:
        """The response to a request, whose body has not been read yet.

        :param pieces: of the request's body
        :raises httpx.HTTPError: if there is none
        """
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if self._client is not None:
            headers = httpx.Headers({**self._headers, **length(pieces)})
            async with self._client.stream(
                "POST", self._url, content=asent(pieces), headers=headers, timeout=patience
            ) as response:
                yield response
            return
        try:
            self._room.acquire_nowait()  # which lets nobody else run in between
        except anyio.WouldBlock:
            await self._room.acquire()
        try:
            transport = self._only or self._taken()
            try:
                asked = _request(self._url, self._headers, pieces, patience)
                response = await transport.handle_async_request(asked)
                try:
                    yield response
                finally:
                    await response.aclose()
            finally:
                await self._leave(transport)
        finally:
            self._room.release()

    def _taken(self) -> httpx.AsyncBaseTransport:
        return self._idle.pop() if self._idle else self._transports.async_one()

    async def _leave(self, transport: httpx.AsyncBaseTransport) -> None:
        """Keep a connection for the next request, unless there are enough of them."""
        if transport is self._only:
            return
        if self._closed or len(self._idle) >= KEPT:
            await transport.aclose()
        else:
            self._idle.append(transport)

    async def aclose(self) -> None:
        """Close the connections, and the transport that somebody brought; a client is left to its owner."""
        self._closed = True
        if self._only is not None:
            await self._only.aclose()
        while self._idle:
            await self._idle.pop().aclose()


def _target(address: Address) -> tuple[httpx.URL, httpx.Headers]:
    try:
        url = httpx.URL(address.url)
    except httpx.InvalidURL as error:
        raise EndpointConfigError(f"base URL {address.url!r}: {error}") from None
    return url, httpx.Headers([("host", url.netloc.decode("ascii")), *address.headers.items()])


def _request(
    url: httpx.URL, headers: httpx.Headers, pieces: tuple[bytes, ...], patience: httpx.Timeout
) -> httpx.Request:
    """The same as what httpx's client would build, without asking what is known."""
    body = sent(pieces)
    request = httpx.Request(
        "POST",
        url,
        headers=headers,
        stream=httpx.ByteStream(body) if isinstance(body, bytes) else _Pieces(pieces),
        extensions={"timeout": patience.as_dict()},
    )
    request.headers.update(length(pieces))
    if isinstance(body, bytes):
        request.read()
    return request


class _Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A long body that is sent piece by piece, so that it is never copied as a whole."""

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
