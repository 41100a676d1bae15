"""One exchange over pyreqwest, a client in Rust: how it is set up, and what its failures are to a run."""

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

__all__ = [
    "CONNECTIONS",
    "CONNECT_TIMEOUT",
    "PIECE",
    "TIMEOUT",
    "AsyncFastClients",
    "FastClients",
    "FastSettings",
    "PyreqwestError",
    "lost",
    "target",
    "told_length",
]

_Builder = TypeVar("_Builder", bound="BaseClientBuilder")

CONNECTIONS: Final = 1_000
"""How many requests an endpoint has under way at once; more wait for their turn."""

CONNECT_TIMEOUT: Final = 10.0
"""Seconds."""

TIMEOUT: Final = 300.0
"""Seconds of silence. It is patient: nothing comes from a server that does not stream until it is done."""

PIECE: Final = 1
"""Bytes of a body that are waited for at once: its first piece comes with the head of the response, since
every wait is for another thread; and no piece of a stream waits for the next."""

_CONNECTING: Final = "client error (Connect)"
_SAID: Final[dict[FailureKind, str]] = {
    "connect": "could not connect",
    "timeout": "timed out",
    "broken": "the exchange broke off",
}


@dataclass(frozen=True, slots=True)
class FastSettings:
    """How clients are made. Bodies come as they are sent: who takes them in decodes them within a bound."""

    address: Address
    timeout: float
    stall_timeout: float
    connect_timeout: float
    connections: int
    http2: bool

    def set_on(self, builder: _Builder, *, streamed: bool) -> _Builder:
        """The builder, told all of it; who asks for a stream waits no longer than a stall.

        :raises EndpointConfigError: if a setting cannot be used
        """
        patience = min(self.timeout, self.stall_timeout) if streamed else self.timeout
        try:
            builder.read_timeout(timedelta(seconds=patience))
            builder.connect_timeout(timedelta(seconds=self.connect_timeout))
            builder.max_connections(self.connections)
            builder.default_headers(dict(self.address.headers))
        except ValueError as error:
            raise EndpointConfigError(f"the endpoint's settings cannot be used: {error}") from None
        builder.gzip(False).brotli(False).zstd(False).deflate(False)
        return builder.follow_redirects(False).referer(False).http2(self.http2)


class FastClients:
    """The clients of one endpoint, made when they are needed: one asks for streams, one does not."""

    def __init__(self, settings: FastSettings) -> None:
        self._settings = settings
        self._made: dict[bool, SyncClient] = {}
        self._closed = False
        self.asking(streamed=False)

    def asking(self, *, streamed: bool) -> SyncClient:
        """The client for a request."""
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if streamed not in self._made:
            self._made[streamed] = self._settings.set_on(SyncClientBuilder(), streamed=streamed).build()
        return self._made[streamed]

    def abort(self) -> None:
        """Break off whatever is under way; what is asked next has new connections."""
        for made in [self._made.pop(streamed) for streamed in (*self._made,)]:
            made.close()

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self.abort()


class AsyncFastClients:
    """The same as :class:`FastClients`, awaited."""

    def __init__(self, settings: FastSettings) -> None:
        self._settings = settings
        self._made: dict[bool, Client] = {}
        self._closed = False
        self.asking(streamed=False)

    def asking(self, *, streamed: bool) -> Client:
        """The client for a request."""
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if streamed not in self._made:
            self._made[streamed] = self._settings.set_on(ClientBuilder(), streamed=streamed).build()
        return self._made[streamed]

    async def abort(self) -> None:
        """Break off whatever is under way; what is asked next has new connections."""
        for made in [self._made.pop(streamed) for streamed in (*self._made,)]:
            await made.close()

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        await self.abort()


def target(address: Address) -> Url:
    """Where requests go, as pyreqwest takes it, which would read a text for each request anew.

    :raises EndpointConfigError: if it is nowhere
    """
    try:
        return Url(address.url)
    except ValueError as error:
        raise EndpointConfigError(f"base URL {address.url!r}: {error}") from None


def told_length(response: BaseResponse) -> float:
    """How many bytes a body has, after which there is nothing to wait for; no end of them if it is not told.

    HTTP/2 tells the end of a body apart from it, and counts who leaves before that.
    """
    length = response.get_header("content-length") or ""
    counted = response.version == "HTTP/1.1" and not response.get_header("transfer-encoding")
    return int(length) if counted and length.isdecimal() else inf


def lost(ref: int, error: PyreqwestError) -> RequestFailed:
    """The event for an exchange that pyreqwest gave up.

    Its own text names the URL with its query, in which there may be a key; only the last cause is told. It
    calls a reply that does not come a failure to connect, too.
    """
    causes = (error.details.get("causes") if isinstance(error, DetailedPyreqwestError) else None) or []
    told = [cause["message"] for cause in causes]
    kind: FailureKind = "broken"
    if _CONNECTING in told:
        kind = "connect"
    elif isinstance(error, RequestTimeoutError):
        kind = "timeout"
    why = told[-1] if len(told) > 1 else error.message
    return RequestFailed(ref, kind, f"{_SAID[kind]}: {why}")
