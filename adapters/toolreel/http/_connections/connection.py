"""Carriers of our own: the connections on which httpx itself stands, asked one request at a time."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import cast

from toolreel._errors import MissingExtra
from toolreel.http._connections.carriers import AsyncComing, Coming
from toolreel.http._connections.target import Target

try:
    import httpcore
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["AsyncByConnection", "ByConnection"]


class ByConnection:
    """One connection at a time to a host; another one where the far side has closed the last one.

    :param opened: gives a connection, which connects when it is first asked
    """

    def __init__(
        self, target: Target, opened: Callable[[httpcore.Origin], httpcore.ConnectionInterface]
    ) -> None:
        self._target = target
        self._opened = opened
        self._connection = opened(target.origin)

    @property
    def idle(self) -> bool:
        """Whether the last exchange came to its end."""
        return self._connection.is_idle()

    def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> Coming:
        """The response to a request."""
        if self._connection.has_expired():
            self._connection.close()
            self._connection = self._opened(self._target.origin)
        response = self._connection.handle_request(self._target.core_request(pieces, patience))
        chunks = iter(cast("Iterable[bytes]", response.stream))
        return Coming(response.status, _named(response.headers), chunks, response.close)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class AsyncByConnection:
    """The same as :class:`ByConnection`, awaited."""

    def __init__(
        self, target: Target, opened: Callable[[httpcore.Origin], httpcore.AsyncConnectionInterface]
    ) -> None:
        self._target = target
        self._opened = opened
        self._connection = opened(target.origin)

    @property
    def idle(self) -> bool:
        """Whether the last exchange came to its end."""
        return self._connection.is_idle()

    async def ask(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> AsyncComing:
        """The response to a request."""
        if self._connection.has_expired():
            await self._connection.aclose()
            self._connection = self._opened(self._target.origin)
        response = await self._connection.handle_async_request(self._target.core_request(pieces, patience))
        chunks = aiter(cast("AsyncIterable[bytes]", response.stream))
        return AsyncComing(response.status, _named(response.headers), chunks, response.aclose)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._connection.aclose()


def _named(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; the values of one that stands there twice are joined."""
    named: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        named[name] = f"{named[name]}, {value}" if name in named else value
    return named
