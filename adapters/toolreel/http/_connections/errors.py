"""One exchange over httpx: how long it may take, and what its failures are to a run."""

from __future__ import annotations

from typing import Final

from toolreel._errors import MissingExtra
from toolreel_core._protocol.events import RequestFailed
from toolreel_core._protocol.outcome import FailureKind

try:
    import httpcore
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["LOST", "TIMEOUT", "as_httpx", "headers_of", "lost", "while_streaming"]

TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0, read=300.0)
"""Seconds. Reading is patient: nothing comes from a server that does not stream until it is done."""


LOST: Final = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)
"""What httpcore raises where an exchange is lost; httpx has the same under the same names."""


def while_streaming(timeout: httpx.Timeout, stall_timeout: float) -> httpx.Timeout:
    """The timeouts of a request that is answered piece by piece: a silence is no longer than a stall.

    >>> while_streaming(httpx.Timeout(5.0, read=300.0), 120.0)
    Timeout(connect=5.0, read=120.0, write=5.0, pool=5.0)
    """
    read_ = stall_timeout if timeout.read is None else min(timeout.read, stall_timeout)
    return httpx.Timeout(timeout.connect, read=read_, write=timeout.write, pool=timeout.pool)


def headers_of(response: httpx.Response) -> httpx.Headers:
    """The headers that go with what there is to read: a body that somebody has read is decoded already."""
    if not response.is_stream_consumed:
        return response.headers
    return httpx.Headers([(k, v) for k, v in response.headers.multi_items() if k != "content-encoding"])


def lost(ref: int, error: httpx.HTTPError) -> RequestFailed:
    """The event for an exchange that httpx gave up.

    ``httpx.HTTPError`` is all that becomes an event: a stale cassette raises something else, so
    that it can never look like a provider's failure.
    """
    kind: FailureKind = "broken"
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        kind = "connect"
    elif isinstance(error, httpx.TimeoutException):
        kind = "timeout"
    return RequestFailed(
        ref, kind, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    )


def as_httpx(error: Exception) -> httpx.HTTPError:
    """What httpx would raise where httpcore raised this."""
    kind: type[httpx.TransportError] = getattr(httpx, type(error).__name__)
    return kind(str(error))
