"""One exchange over pyreqwest: building the clients, and events for pyreqwest exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

from toolreel._errors import EndpointConfigError, MissingExtra
from toolreel.http._exchange import Address
from toolreel_core._protocol.events import RequestFailed
from toolreel_core._protocol.outcome import FailureKind

try:
    from pyreqwest.client import Client, ClientBuilder, SyncClient, SyncClientBuilder
    from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError, RequestTimeoutError
    from pyreqwest.http import Url
except ImportError:
    raise MissingExtra.of("fast", "pyreqwest") from None

if TYPE_CHECKING:
    from pyreqwest.client import BaseClientBuilder
    from pyreqwest.response import BaseResponse

_Builder = TypeVar("_Builder", bound="BaseClientBuilder")

CONNECTIONS: Final = 1_000
"""Default maximum number of concurrent requests; further requests wait."""

CONNECT_TIMEOUT: Final = 10.0
"""Default connect timeout, in seconds."""

TIMEOUT: Final = 300.0
"""Default read timeout, in seconds; without streaming, nothing arrives before the reply is done."""

PIECE: Final = 1
"""Bytes of a body to read ahead. With 1, the first chunk arrives together with the headers, which saves a
switch of threads, and no chunk of a stream waits for the next."""

_CONNECTING: Final = "client error (Connect)"
"""The cause by which hyper-util, under reqwest, marks a failed connection."""

_MESSAGES: Final[dict[FailureKind, str]] = {
    "connect": "could not connect",
    "timeout": "timed out",
    "broken": "the exchange broke off",
}


@dataclass(frozen=True, slots=True)
class FastSettings:
    """Settings of the clients. They do not decompress, since pyreqwest would do it without a limit."""

    address: Address
    timeout: float
    stall_timeout: float
    connect_timeout: float
    connections: int
    http2: bool

    def set_on(self, builder: _Builder, *, streamed: bool) -> _Builder:
        """The builder with these settings; when streaming, the read timeout is at most the stall timeout.

        :raises EndpointConfigError: if a setting is invalid
        """
        read_timeout = min(self.timeout, self.stall_timeout) if streamed else self.timeout
        try:
            builder.read_timeout(timedelta(seconds=read_timeout))
            builder.connect_timeout(timedelta(seconds=self.connect_timeout))
            builder.max_connections(self.connections)
            builder.default_headers(dict(self.address.headers))
        except ValueError as error:
            raise EndpointConfigError(f"invalid settings of the endpoint: {error}") from None
        builder.gzip(False).brotli(False).zstd(False).deflate(False)
        return builder.follow_redirects(False).referer(False).http2(self.http2)


class FastClients:
    """The clients of one endpoint: one for streamed requests and one for others, as their timeouts differ."""

    def __init__(self, settings: FastSettings) -> None:
        self._settings = settings
        self._clients: dict[bool, SyncClient] = {}
        self._closed = False
        self.get(streamed=False)

    def get(self, *, streamed: bool) -> SyncClient:
        """The client for a request; made at its first use."""
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if streamed not in self._clients:
            self._clients[streamed] = self._settings.set_on(SyncClientBuilder(), streamed=streamed).build()
        return self._clients[streamed]

    def abort(self) -> None:
        """Abort all requests; the next one opens a new connection."""
        for client in [self._clients.pop(streamed) for streamed in (*self._clients,)]:
            client.close()

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self.abort()


class AsyncFastClients:
    """The async version of :class:`FastClients`."""

    def __init__(self, settings: FastSettings) -> None:
        self._settings = settings
        self._clients: dict[bool, Client] = {}
        self._closed = False
        self.get(streamed=False)

    def get(self, *, streamed: bool) -> Client:
        """The client for a request; made at its first use."""
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if streamed not in self._clients:
            self._clients[streamed] = self._settings.set_on(ClientBuilder(), streamed=streamed).build()
        return self._clients[streamed]

    async def abort(self) -> None:
        """Abort all requests; the next one opens a new connection."""
        for client in [self._clients.pop(streamed) for streamed in (*self._clients,)]:
            await client.close()

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        await self.abort()


def target(address: Address) -> Url:
    """The URL of an address, parsed once instead of for each request.

    :raises EndpointConfigError: if it is invalid
    """
    try:
        return Url(address.url)
    except ValueError as error:
        raise EndpointConfigError(f"base URL {address.url!r}: {error}") from None


def content_length(response: BaseResponse) -> float:
    """The length of the body in bytes; infinite if the headers do not give it.

    Also infinite for HTTP/2, which marks the end of a body separately: a client that stops before that resets
    the stream, and servers count resets.
    """
    length = response.get_header("content-length") or ""
    has_length = response.version == "HTTP/1.1" and not response.get_header("transfer-encoding")
    return int(length) if has_length and length.isdecimal() else inf


def lost(ref: int, error: PyreqwestError) -> RequestFailed:
    """The event for a pyreqwest exception.

    Its own message contains the URL with the query, which may hold a key, so only the last cause is quoted.
    Its classes do not tell a failed connection from a missing reply; the causes do.
    """
    causes = (error.details.get("causes") if isinstance(error, DetailedPyreqwestError) else None) or []
    messages = [cause["message"] for cause in causes]
    kind: FailureKind = "broken"
    if _CONNECTING in messages:
        kind = "connect"
    elif isinstance(error, RequestTimeoutError):
        kind = "timeout"
    why = messages[-1] if len(messages) > 1 else error.message
    return RequestFailed(ref, kind, f"{_MESSAGES[kind]}: {why}")
