"""What carries requests over httpx, each with a response whose body has not been read, in one shape.

A transport or somebody's client, here; or a connection of our own, in
:mod:`toolreel.http._connections.connection`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from toolreel._errors import MissingExtra
from toolreel.http._connections.errors import headers_of
from toolreel.http._connections.target import Target
from toolreel.http._exchange import asent, length, sent

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = [
    "AsyncByClient",
    "AsyncByTransport",
    "AsyncCarrier",
    "AsyncComing",
    "ByClient",
    "ByTransport",
    "Carrier",
    "Coming",
]


class Coming(NamedTuple):
    """A response whose body is still to come."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    chunks: Iterator[bytes]
    close: Callable[[], None]


class AsyncComing(NamedTuple):
    """The same as :class:`Coming`, awaited."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[None]]


class Carrier(Protocol):
    """Something that carries requests."""

    @property
    def idle(self) -> bool:
        """Whether it can carry another request."""
        ...

    def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> Coming:
        """The response to a request.

        :param pieces: of the request's body
        """
        ...

    def close(self) -> None:
        """Close whatever is ours."""
        ...


class AsyncCarrier(Protocol):
    """The same as :class:`Carrier`, awaited."""

    @property
    def idle(self) -> bool:
        """Whether it can carry another request."""
        ...

    async def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> AsyncComing:
        """The response to a request.

        :param pieces: of the request's body
        """
        ...

    async def aclose(self) -> None:
        """Close whatever is ours."""
        ...


class ByTransport:
    """A transport of httpx: one that somebody brings, or what speaks HTTP/2 or to a proxy for us."""

    def __init__(self, target: Target, transport: httpx.BaseTransport) -> None:
        self._target = target
        self._transport = transport

    @property
    def idle(self) -> bool:
        """Always: it has connections of its own."""
        return True

    def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> Coming:
        """The response to a request."""
        return _coming(self._transport.handle_request(self._target.request(pieces, patience)))

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()


class AsyncByTransport:
    """The same as :class:`ByTransport`, awaited."""

    def __init__(self, target: Target, transport: httpx.AsyncBaseTransport) -> None:
        self._target = target
        self._transport = transport

    @property
    def idle(self) -> bool:
        """Always: it has connections of its own."""
        return True

    async def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> AsyncComing:
        """The response to a request."""
        asked = self._target.request(pieces, patience)
        return _acoming(await self._transport.handle_async_request(asked))

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


class ByClient:
    """A client of somebody's, with its hooks, auth and cookies."""

    def __init__(self, target: Target, client: httpx.Client) -> None:
        self._target = target
        self._client = client

    @property
    def idle(self) -> bool:
        """Always: it has connections of its own."""
        return True

    def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> Coming:
        """The response to a request."""
        headers = httpx.Headers({**self._target.headers, **length(pieces)})
        asked = self._client.build_request(
            "POST", self._target.url, content=sent(pieces), headers=headers, timeout=patience
        )
        return _coming(self._client.send(asked, stream=True))

    def close(self) -> None:
        """Leave the client to its owner."""


class AsyncByClient:
    """The same as :class:`ByClient`, awaited."""

    def __init__(self, target: Target, client: httpx.AsyncClient) -> None:
        self._target = target
        self._client = client

    @property
    def idle(self) -> bool:
        """Always: it has connections of its own."""
        return True

    async def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> AsyncComing:
        """The response to a request."""
        headers = httpx.Headers({**self._target.headers, **length(pieces)})
        asked = self._client.build_request(
            "POST", self._target.url, content=asent(pieces), headers=headers, timeout=patience
        )
        return _acoming(await self._client.send(asked, stream=True))

    async def aclose(self) -> None:
        """Leave the client to its owner."""


def _coming(response: httpx.Response) -> Coming:
    chunks = response.iter_bytes() if response.is_stream_consumed else response.iter_raw()
    return Coming(response.status_code, headers_of(response), chunks, response.close)


def _acoming(response: httpx.Response) -> AsyncComing:
    chunks = response.aiter_bytes() if response.is_stream_consumed else response.aiter_raw()
    return AsyncComing(response.status_code, headers_of(response), chunks, response.aclose)
