"""Pools of httpx's own transports: one connection each, one transport for each concurrent request.

httpx's transport has a pool inside, which looks at all of its connections for every request: at a thousand
concurrent requests, that takes most of the CPU. A transport with one connection has nothing to look at.
Whatever watches or mocks ``httpx.HTTPTransport`` or httpcore sees each request.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from threading import Lock, Semaphore
from typing import Final, Generic, TypeVar, cast

from toolreel._errors import MissingExtra

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["EXPIRY", "KEPT", "AsyncPool", "Pool"]

KEPT: Final = 100
"""Maximum number of idle connections."""

EXPIRY: Final = 60.0
"""Seconds after which an idle connection is closed: a tool may take its time, and a new connection costs a
handshake."""

_Transport = TypeVar("_Transport")


class Pool(httpx.BaseTransport):
    """A transport that passes each request to one of its own.

    :param make: makes a transport for one connection, which connects at its first request
    :param connections: maximum number of concurrent requests; further requests wait
    """

    def __init__(self, make: Callable[[], httpx.BaseTransport], connections: int) -> None:
        self._make = make
        self._room = Semaphore(connections)
        self._idle = _Idle[httpx.BaseTransport]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response of a transport that is in use until the response is closed."""
        self._room.acquire()
        transport = self._idle.taken() or self._make()
        try:
            response = transport.handle_request(request)
        except BaseException:
            self._room.release()
            transport.close()
            raise
        stream = _Lent(cast("httpx.SyncByteStream", response.stream), lambda: self._give_back(transport))
        if response.is_closed:  # a mock's, whose body has been read, so that nobody closes it
            stream.give_back()
        response.stream = stream
        return response

    def _give_back(self, transport: httpx.BaseTransport) -> None:
        spent = self._idle.kept(transport)
        self._room.release()
        for each in spent:
            each.close()

    def close(self) -> None:
        """Close the connections; those that are in use, when their responses are closed."""
        for each in self._idle.closed():
            each.close()


class AsyncPool(httpx.AsyncBaseTransport):
    """The same as :class:`Pool`, awaited."""

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport], connections: int) -> None:
        self._make = make
        self._room = anyio.Semaphore(connections)
        self._idle = _Idle[httpx.AsyncBaseTransport]()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of a transport that is in use until the response is closed."""
        try:
            self._room.acquire_nowait()  # which does not let other tasks run
        except anyio.WouldBlock:
            await self._room.acquire()
        transport = self._idle.taken() or self._make()
        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            self._room.release()
            with anyio.CancelScope(shield=True):  # a cancelled request must not leave a connection behind
                await transport.aclose()
            raise
        stream = _AsyncLent(
            cast("httpx.AsyncByteStream", response.stream), lambda: self._give_back(transport)
        )
        if response.is_closed:  # a mock's, whose body has been read, so that nobody closes it
            await stream.give_back()
        response.stream = stream
        return response

    async def _give_back(self, transport: httpx.AsyncBaseTransport) -> None:
        spent = self._idle.kept(transport)
        self._room.release()
        for each in spent:
            await each.aclose()

    async def aclose(self) -> None:
        """Close the connections; those that are in use, when their responses are closed."""
        for each in self._idle.closed():
            await each.aclose()


class _Idle(Generic[_Transport]):
    """Transports without a request. The one used last is taken first, so that the others can expire."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._since: deque[tuple[float, _Transport]] = deque()
        self._closed = False

    def taken(self) -> _Transport | None:
        """The one used last, if there is one."""
        with self._lock:
            return self._since.pop()[1] if self._since else None

    def kept(self, transport: _Transport) -> list[_Transport]:
        """Keep a transport; gives those that are to be closed: expired, or too many."""
        now = time.monotonic()
        with self._lock:
            self._since.append((now, transport))
            most = 0 if self._closed else KEPT
            spent = []
            while self._since and (len(self._since) > most or now - self._since[0][0] > EXPIRY):
                spent.append(self._since.popleft()[1])
        return spent

    def closed(self) -> list[_Transport]:
        """Keep none from now on; gives those that are to be closed."""
        with self._lock:
            self._closed = True
            spent = [transport for _, transport in self._since]
            self._since.clear()
        return spent


class _Lent(httpx.SyncByteStream):
    """The body of a response, which gives its transport back when it is closed."""

    def __init__(self, inner: httpx.SyncByteStream, back: Callable[[], None]) -> None:
        self._inner = inner
        self._back: Callable[[], None] | None = back

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._inner)

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self.give_back()

    def give_back(self) -> None:
        back, self._back = self._back, None  # once, however often somebody closes the response
        if back is not None:
            back()


class _AsyncLent(httpx.AsyncByteStream):
    """The same as :class:`_Lent`, awaited."""

    def __init__(self, inner: httpx.AsyncByteStream, back: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._back: Callable[[], Awaitable[None]] | None = back

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._inner)

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            await self.give_back()

    async def give_back(self) -> None:
        back, self._back = self._back, None
        if back is not None:
            await back()
