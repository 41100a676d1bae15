"""Keeps connections of httpx within the limits of the exchange that uses them.

The ``trace`` extension of a request gets each new connection from httpcore, whatever made the client. Its
``read`` and ``write`` then end at the deadline of the current exchange, and count what arrives. A failure is
an exception of httpcore, so that it is recorded and replayed like any other timeout.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from toolreel._internal import MissingExtra
from toolreel.http._response_reader import Exchange, current

try:
    import httpcore
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

_LAYERS: Final = ("connection", "proxy", "socks")
"""The parts of httpcore that open a connection; their names begin those of its trace events."""
_STEPS: Final = [f"{layer}.connect_{way}" for layer in _LAYERS for way in ("tcp", "unix_socket")]
_CONNECTS: Final = frozenset(f"{step}.started" for step in _STEPS)
_OPENED: Final = frozenset(
    f"{step}.complete" for step in (*_STEPS, *(f"{each}.start_tls" for each in _LAYERS))
)

_HEAD_SENT: Final = "http11.send_request_headers.started"
_HEAD_RECEIVED: Final = "http11.receive_response_headers.complete"

_FOLLOWED: Final = _CONNECTS | {_HEAD_SENT, _HEAD_RECEIVED}

_WRITTEN: Final = 65_536
"""Bytes that are written at most before the time is looked at: httpcore's timeout is for each ``send``."""


# httpcore reports ten steps of each request. These two look at most of them only by name, since calls for
# each would be a twentieth of an exchange.


def trace(event: str, details: dict[str, Any]) -> None:
    """The callback of httpcore for a sync request."""
    if event in _OPENED:
        _bind(details["return_value"])
    elif event in _FOLLOWED:
        _follow(event)


async def async_trace(event: str, details: dict[str, Any]) -> None:
    """The callback of httpcore for an async request."""
    if event in _OPENED:
        stream = details["return_value"]
        # A task that reads from an HTTP/2 connection reads for all others too; they would share its failure.
        if not _is_http2(stream):
            _async_bind(stream)
    elif event in _FOLLOWED:
        _follow(event)


def _follow(event: str) -> None:
    if (exchange := current()) is None:
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


@contextmanager
def _in_time(exchange: Exchange, timeout: type[httpcore.TimeoutException]) -> Generator[None]:
    """Raise this timeout with the deadline as the reason, before or after, if the exchange is over."""
    try:
        if not exchange.over:
            yield
            return
    except timeout:
        if not exchange.over:
            raise
    raise timeout(exchange.message) from None


def _counted(exchange: Exchange, data: bytes) -> bytes:
    if why := exchange.excess(len(data)):
        raise httpcore.RemoteProtocolError(why)
    return data


def _bind(stream: httpcore.NetworkStream) -> None:
    read, write = stream.read, stream.write
    counts = not _is_http2(stream)

    def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
        if (exchange := current()) is None:
            return read(max_bytes, timeout)
        with _in_time(exchange, httpcore.ReadTimeout):
            data = read(max_bytes, exchange.within(timeout))
        return _counted(exchange, data) if counts else data

    def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
        if (exchange := current()) is None:
            write(buffer, timeout)
            return
        for start in range(0, len(buffer), _WRITTEN):
            with _in_time(exchange, httpcore.WriteTimeout):
                write(buffer[start : start + _WRITTEN], exchange.within(timeout))

    # On this one stream: httpx has no setting for the network backend, which could wrap it.
    vars(stream).update(read=bounded_read, write=bounded_write)


def _async_bind(stream: httpcore.AsyncNetworkStream) -> None:
    read, write = stream.read, stream.write

    async def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
        if (exchange := current()) is None:
            return await read(max_bytes, timeout)
        with _in_time(exchange, httpcore.ReadTimeout):
            data = await read(max_bytes, exchange.within(timeout))
        return _counted(exchange, data)

    async def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
        if (exchange := current()) is None:
            await write(buffer, timeout)
            return
        with _in_time(exchange, httpcore.WriteTimeout):  # this timeout is for all of the buffer
            await write(buffer, exchange.within(timeout))

    vars(stream).update(read=bounded_read, write=bounded_write)
