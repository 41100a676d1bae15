"""Keeps connections of httpx within the limits of the exchange that uses them.

The ``trace`` extension of a request gets each new connection from httpcore, whatever made the client. Its
``read`` and ``write`` then end at the deadline of the current exchange, and count what arrives. A failure is
an exception of httpcore, so that it is recorded and replayed like any other timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from toolreel._internal import MissingExtra
from toolreel.http._response_reader import Exchange

try:
    import httpcore
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

_CURRENT: Final[ContextVar[Exchange | None]] = ContextVar("toolreel_exchange", default=None)
"""The exchange of this thread or task: a connection outlives it, and serves others."""

_LAYERS: Final = ("connection", "proxy", "socks")
"""The parts of httpcore that open a connection; their names begin those of its trace events."""

_CONNECTS: Final = frozenset(
    f"{layer}.{step}.started" for layer in _LAYERS for step in ("connect_tcp", "connect_unix_socket")
)

_OPENED: Final = frozenset(
    f"{layer}.{step}.complete"
    for layer in _LAYERS
    for step in ("connect_tcp", "connect_unix_socket", "start_tls")
)

_HEAD_SENT: Final = "http11.send_request_headers.started"
_HEAD_RECEIVED: Final = "http11.receive_response_headers.complete"

_FOLLOWED: Final = _CONNECTS | {_HEAD_SENT, _HEAD_RECEIVED}

_WRITTEN: Final = 65_536
"""Bytes that are written at most before the time is looked at: httpcore's timeout is for each ``send``."""


@contextmanager
def limited(exchange: Exchange) -> Generator[None]:
    """Make this the current exchange."""
    before = _CURRENT.set(exchange)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def current() -> Exchange | None:
    """The current exchange of this thread or task."""
    return _CURRENT.get()


# httpcore reports ten steps of each request. These two look at most of them only by name, since calls for
# each would be a twentieth of an exchange.


def trace(event: str, details: dict[str, Any]) -> None:
    """The callback of httpcore for a sync request."""
    if event in _OPENED:
        _bound(details["return_value"])
    elif event in _FOLLOWED:
        _follow(event)


async def async_trace(event: str, details: dict[str, Any]) -> None:
    """The callback of httpcore for an async request."""
    if event in _OPENED:
        stream = details["return_value"]
        # A task that reads from an HTTP/2 connection reads for all others too; they would share its failure.
        if not _is_http2(stream):
            _async_bound(stream)
    elif event in _FOLLOWED:
        _follow(event)


def _follow(event: str) -> None:
    if (exchange := _CURRENT.get()) is None:
        return
    if event in _CONNECTS:
        exchange.connect()
    elif event == _HEAD_SENT:
        exchange.await_head()
    else:
        exchange.await_body()


def _is_http2(stream: httpcore.NetworkStream | httpcore.AsyncNetworkStream) -> bool:
    tls = stream.get_extra_info("ssl_object")
    return tls is not None and tls.selected_alpn_protocol() == "h2"


def _bound(stream: httpcore.NetworkStream) -> None:
    read, write = stream.read, stream.write
    counts = not _is_http2(stream)

    def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = _CURRENT.get()
        if exchange is None:
            return read(max_bytes, timeout)
        _check(exchange, httpcore.ReadTimeout)
        try:
            data = read(max_bytes, exchange.within(timeout))
        except httpcore.ReadTimeout:
            _check(exchange, httpcore.ReadTimeout)
            raise
        return _counted(exchange, data) if counts else data

    def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
        exchange = _CURRENT.get()
        if exchange is None:
            write(buffer, timeout)
            return
        for start in range(0, len(buffer), _WRITTEN):
            _check(exchange, httpcore.WriteTimeout)
            try:
                write(buffer[start : start + _WRITTEN], exchange.within(timeout))
            except httpcore.WriteTimeout:
                _check(exchange, httpcore.WriteTimeout)
                raise

    _replace(stream, bounded_read, bounded_write)


def _async_bound(stream: httpcore.AsyncNetworkStream) -> None:
    read, write = stream.read, stream.write

    async def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = _CURRENT.get()
        if exchange is None:
            return await read(max_bytes, timeout)
        _check(exchange, httpcore.ReadTimeout)
        try:
            data = await read(max_bytes, exchange.within(timeout))
        except httpcore.ReadTimeout:
            _check(exchange, httpcore.ReadTimeout)
            raise
        return _counted(exchange, data)

    async def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
        exchange = _CURRENT.get()
        if exchange is None:
            await write(buffer, timeout)
            return
        _check(exchange, httpcore.WriteTimeout)
        try:  # this timeout is for all of the buffer
            await write(buffer, exchange.within(timeout))
        except httpcore.WriteTimeout:
            _check(exchange, httpcore.WriteTimeout)
            raise

    _replace(stream, bounded_read, bounded_write)


def _replace(stream: object, read: Callable[..., Any], write: Callable[..., Any]) -> None:
    # On this one stream: httpx has no setting for the network backend, which could wrap it.
    vars(stream).update(read=read, write=write)


# Not a context manager around each read and write, which would take a thirtieth of an exchange.
def _check(exchange: Exchange, timeout: type[httpcore.TimeoutException]) -> None:
    """Raise this timeout, with the deadline as the reason, if the exchange is over."""
    if exchange.over:
        raise timeout(exchange.message) from None


def _counted(exchange: Exchange, data: bytes) -> bytes:
    if why := exchange.excess(len(data)):
        raise httpcore.RemoteProtocolError(why)
    return data
