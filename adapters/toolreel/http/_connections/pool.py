"""Which connections an endpoint over httpx has: httpcore's, on which httpx itself stands, asked directly.

httpx's client merges settings, follows redirects and keeps cookies, none of which a chat completion needs, at
three times the cost of the exchange itself; and its pool looks at every connection for every request. So the
connections are kept here, each with one request at a time, on an SSL context that all share. A proxy and
HTTP/2 are left to httpx's transports. Who brings a client (with hooks, auth, cookies) is served by it, who
brings a transport (a cassette) by that.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from threading import Semaphore
from typing import Final, assert_never

from toolreel._errors import MissingExtra
from toolreel.http._connections.carriers import (
    AsyncByClient,
    AsyncByTransport,
    AsyncCarrier,
    AsyncComing,
    ByClient,
    ByTransport,
    Carrier,
    Coming,
)
from toolreel.http._connections.connection import AsyncByConnection, ByConnection
from toolreel.http._connections.errors import LOST, as_httpx
from toolreel.http._connections.target import Target
from toolreel.http._connections.transports import KEPT, Transports
from toolreel.http._exchange import Address

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
        self._target = Target(address)
        self._transports = Transports(address.url, connections, http2=http2)
        self._room = Semaphore(connections)
        self._idle: list[Carrier] = []
        self._closed = False
        self._only = self._for_all(carrier, http2=http2)
        """What carries all requests, if they share it."""

    def _for_all(self, carrier: httpx.BaseTransport | httpx.Client | None, *, http2: bool) -> Carrier | None:
        match carrier:
            case httpx.Client():
                return ByClient(self._target, carrier)
            case httpx.BaseTransport():
                return ByTransport(self._target, carrier)
            case None:
                first = self._new()  # now, since it may find that a setting cannot be used
                self._idle += [] if http2 else [first]
                return first if http2 else None
            case _:
                assert_never(carrier)

    @contextmanager
    def asked(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> Generator[Coming]:
        """The response to a request, whose body has not been read yet.

        :param pieces: of the request's body
        :raises httpx.HTTPError: if there is none
        """
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        with self._room:
            carrier = self._only or self._taken()
            try:
                response = carrier.ask(pieces, patience)
                try:
                    yield response
                finally:
                    response.close()
            except LOST as error:
                raise as_httpx(error) from error
            finally:
                self._leave(carrier)

    def _taken(self) -> Carrier:
        try:
            return self._idle.pop()
        except IndexError:
            return self._new()

    def _new(self) -> Carrier:
        if not self._transports.direct:
            return ByTransport(self._target, self._transports.one())
        return ByConnection(self._target, self._transports.connection)

    def _leave(self, carrier: Carrier) -> None:
        """Keep a connection for the next request, unless it is spent or there are enough of them."""
        if carrier is self._only:
            return
        if self._closed or not carrier.idle or len(self._idle) >= KEPT:
            carrier.close()
        else:
            self._idle.append(carrier)

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
        self._target = Target(address)
        self._transports = Transports(address.url, connections, http2=http2)
        self._room = anyio.Semaphore(connections)
        self._idle: list[AsyncCarrier] = []
        self._closed = False
        self._only = self._for_all(carrier, http2=http2)
        """What carries all requests, if they share it."""

    def _for_all(
        self, carrier: httpx.AsyncBaseTransport | httpx.AsyncClient | None, *, http2: bool
    ) -> AsyncCarrier | None:
        match carrier:
            case httpx.AsyncClient():
                return AsyncByClient(self._target, carrier)
            case httpx.AsyncBaseTransport():
                return AsyncByTransport(self._target, carrier)
            case None:
                first = self._new()  # now, since it may find that a setting cannot be used
                self._idle += [] if http2 else [first]
                return first if http2 else None
            case _:
                assert_never(carrier)

    @asynccontextmanager
    async def asked(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> AsyncGenerator[AsyncComing]:
        """The response to a request, whose body has not been read yet.

        :param pieces: of the request's body
        :raises httpx.HTTPError: if there is none
        """
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        try:
            self._room.acquire_nowait()  # which lets nobody else run in between
        except anyio.WouldBlock:
            await self._room.acquire()
        try:
            carrier = self._only or self._taken()
            try:
                response = await carrier.ask(pieces, patience)
                try:
                    yield response
                finally:
                    await response.close()
            except LOST as error:
                raise as_httpx(error) from error
            finally:
                await self._leave(carrier)
        finally:
            self._room.release()

    def _taken(self) -> AsyncCarrier:
        return self._idle.pop() if self._idle else self._new()

    def _new(self) -> AsyncCarrier:
        if not self._transports.direct:
            return AsyncByTransport(self._target, self._transports.async_one())
        return AsyncByConnection(self._target, self._transports.async_connection)

    async def _leave(self, carrier: AsyncCarrier) -> None:
        """Keep a connection for the next request, unless it is spent or there are enough of them."""
        if carrier is self._only:
            return
        if self._closed or not carrier.idle or len(self._idle) >= KEPT:
            await carrier.aclose()
        else:
            self._idle.append(carrier)

    async def aclose(self) -> None:
        """Close the connections, and the transport that somebody brought; a client is left to its owner."""
        self._closed = True
        if self._only is not None:
            await self._only.aclose()
        while self._idle:
            await self._idle.pop().aclose()
