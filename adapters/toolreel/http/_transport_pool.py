"""Default httpx transports: a pool, with the certificates and the proxy that the environment names."""

from __future__ import annotations

import math
import os
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from importlib.util import find_spec
from threading import Lock, Semaphore
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from toolreel._driver import await_if_awaitable, immediately
from toolreel._internal import EndpointConfigError, MissingExtra
from toolreel.http._request import host_fault
from toolreel.http._response_reader import ExchangeLimits, current_exchange

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None
try:
    import httpcore
except ImportError:
    raise MissingExtra.of("http", "httpx") from None


MAX_IDLE = 100
"""Maximum number of idle connections."""

EXPIRY = 60.0
"""Seconds after which an idle connection is closed. Longer than httpx's 5 s, since tools run between two
requests, and a new connection costs a handshake."""

_NONE_FREE = "no connection was free before the deadline of the exchange; connections= allows more"

_HUNG_UP = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
"""What a connection raises that the server has closed."""

_Item = TypeVar("_Item")


_AnyTransport: TypeAlias = "httpx.BaseTransport | httpx.AsyncBaseTransport"


class _PooledStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of a response, sync or async; closing it returns its transport to the pool."""

    def __init__(self, inner: Any, back: Callable[[], Awaitable[None]]) -> None:  # noqa: ANN401 - either
        self._inner = inner
        self._back: Callable[[], Awaitable[None]] | None = back

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._inner)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._inner)

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            immediately(self.give_back())

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            await self.give_back()

    async def give_back(self) -> None:
        back, self._back = self._back, None  # only once, even if the response is closed twice
        if back is not None:
            await back()


class Pool(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that sends each request over a transport of its pool, which have one connection each.

    The pool inside httpx's transport (of httpcore) scans all of its connections for every request: at a
    thousand concurrent requests, that takes most of the CPU. A transport with one connection has nothing to
    scan. Tools that instrument or mock ``httpx.HTTPTransport`` or httpcore still see each request.

    Servers close connections that rest, and one may do so just as a request is on its way. So a request that
    meets a closed connection is sent again, on a new one: only if the connection had been used before,
    and not a byte of a response has come (see :attr:`Exchange.can_be_resent`).

    :param make: makes a transport for one connection, sync or async; it connects at its first request
    :param connections: maximum number of concurrent requests; further requests wait
    """

    def __init__(self, make: Callable[[], _AnyTransport], connections: int) -> None:
        self._make = make
        self._connections = connections
        self._lock = Lock()
        self._idle: deque[tuple[float, _AnyTransport]] = deque()
        """Since when each is idle. The one used last is taken first, so that the others can expire."""
        self._closed = False
        self._connection_slots = Semaphore(connections)

    # Made at the first request, since anyio takes it from the event loop that is running by then.
    @cached_property
    def _async_slots(self) -> anyio.Semaphore:
        return anyio.Semaphore(self._connections)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = current_exchange()
        if not self._connection_slots.acquire(timeout=None if exchange is None else exchange.left):
            raise httpx.PoolTimeout(_NONE_FREE)
        return immediately(
            self._send_over_pooled_transport(request, "handle_request", self._connection_slots)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = current_exchange()
        with anyio.move_on_after(math.inf if exchange is None else exchange.left) as waiting:
            await self._async_slots.acquire()
        if waiting.cancelled_caught:
            raise httpx.PoolTimeout(_NONE_FREE)
        return await self._send_over_pooled_transport(request, "handle_async_request", self._async_slots)

    async def _send_over_pooled_transport(
        self, request: httpx.Request, handle: str, slots: Semaphore | anyio.Semaphore
    ) -> httpx.Response:
        exchange = current_exchange()
        with self._lock:
            idle = self._idle.pop()[1] if self._idle else None
        try:
            transport = idle or self._make()
        except BaseException:
            slots.release()
            raise
        try:
            try:
                response: httpx.Response = await await_if_awaitable(getattr(transport, handle)(request))
            except _HUNG_UP:
                if exchange is None or not exchange.can_be_resent:
                    raise
                await _close_transport(transport)
                transport = self._make()  # not another idle one, which may be closed as well
                response = await await_if_awaitable(getattr(transport, handle)(request))
        except BaseException:  # the connection may be half-used, so it is not kept
            slots.release()
            await _close_transport(transport)
            raise

        async def give_back() -> None:
            now = time.monotonic()
            with self._lock:
                self._idle.append((now, transport))
            slots.release()
            await self._close_idle(0 if self._closed else MAX_IDLE, now - EXPIRY)

        stream = _PooledStream(response.stream, give_back)
        if response.is_closed:  # from a mock that has read the body; it is not closed again
            await stream.give_back()
        response.stream = stream
        return response

    async def _close_idle(self, most: int, oldest: float) -> None:
        spent: list[_AnyTransport] = []
        with self._lock:
            while self._idle and (len(self._idle) > most or self._idle[0][0] < oldest):
                spent.append(self._idle.popleft()[1])
        for each in spent:
            await _close_transport(each)

    def close(self) -> None:
        immediately(self.aclose())

    async def aclose(self) -> None:
        self._closed = True
        await self._close_idle(0, 0.0)


async def _close_transport(transport: _AnyTransport) -> None:
    if isinstance(transport, httpx.BaseTransport):
        transport.close()
        return
    with anyio.CancelScope(shield=True):  # a cancelled request must not leave a connection behind
        await transport.aclose()


MAX_REQUESTS = 1_000
"""Maximum number of concurrent requests of an endpoint; further requests wait."""

AnyProxy: TypeAlias = "str | httpx.URL | httpx.Proxy"


def pooled_transport(
    url: str,
    *,
    is_async: bool = False,
    proxy: AnyProxy | None = None,
    http2: bool = False,
    connections: int = MAX_REQUESTS,
) -> Any:  # noqa: ANN401 - sync or async
    """A pool of transports; for HTTP/2 a single one, since its connection carries many requests.

    :param proxy: overrides the proxy that the environment names
    :raises EndpointConfigError: if the proxy or the number of connections is invalid
    """
    if connections < 1:
        raise EndpointConfigError(f"connections must be at least 1, got {connections!r}")
    if http2 and find_spec("h2") is None:
        raise MissingExtra.of("http2", "h2")
    make = partial(
        httpx.AsyncHTTPTransport if is_async else httpx.HTTPTransport,
        verify=_ssl_context(http2, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        proxy=_proxy_of_environment(url) if proxy is None else _checked_proxy(proxy, "invalid proxy"),
        http2=http2,
        limits=httpx.Limits(
            max_connections=connections if http2 else 1,
            max_keepalive_connections=MAX_IDLE,
            keepalive_expiry=EXPIRY,
        ),
    )
    return make() if http2 else Pool(make, connections)


class PlainTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends requests as a plain client does, sync or async: through the proxy that the environment names.

    The transports of httpx alone do not look at the environment, nor does a client with a transport.
    """

    def __init__(self) -> None:
        self._by_origin: dict[str, Any] = {}
        """A pool for each server, since the environment may except a server from its proxy."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = self._pool_for(request.url, is_async=False).handle_request(request)
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        pool = self._pool_for(request.url, is_async=True)
        response: httpx.Response = await pool.handle_async_request(request)
        return response

    def _pool_for(self, url: httpx.URL, *, is_async: bool) -> Any:  # noqa: ANN401 - as of `pooled_transport`
        origin = f"{url.scheme}://{url.netloc.decode()}"
        if origin not in self._by_origin:
            self._by_origin[origin] = pooled_transport(origin, is_async=is_async)
        return self._by_origin[origin]

    def close(self) -> None:
        immediately(self.aclose())

    async def aclose(self) -> None:
        for pool in self._by_origin.values():
            await pool.aclose()


@cache
def _ssl_context(_http2: bool, _file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Making a context takes 20 ms. The parameters are only cache keys.

    Httpcore sets the offered protocols (ALPN) on it, and httpx reads the certificate settings itself.
    """
    return httpx.create_ssl_context()


def _proxy_of_environment(url: str) -> httpx.Proxy | None:
    """Clients of httpx do this only without a transport, in a private function."""
    parts, proxies = urlsplit(url), getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):  # no_proxy
        return None
    where = f"the environment names an invalid proxy for {parts.scheme}"
    return _checked_proxy(named if "://" in named else f"http://{named}", where)


def _checked_proxy(proxy: AnyProxy, where: str) -> httpx.Proxy:
    try:
        checked = proxy if isinstance(proxy, httpx.Proxy) else httpx.Proxy(proxy)
        if fault := host_fault(checked.url.host):
            raise ValueError(fault)
    except (ValueError, httpx.InvalidURL):  # not quoted: its text may contain a password
        expected = "expected http://, https:// or socks5:// and a host"
        raise EndpointConfigError(f"{where}: {expected}") from None
    if checked.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise EndpointConfigError(f"{where}: SOCKS needs the package socksio, pip install 'httpx[socks]'")
    return checked


# Keeps connections of httpx within the limits of the exchange that uses them.
#
# The ``trace`` extension of a request gets each new connection from httpcore, whatever made the client. Its
# ``read`` and ``write`` then end at the deadline of the current exchange, and count what arrives. A failure
# is an exception of httpcore, so that it is recorded and replayed like any other timeout.


_LAYERS = ("connection", "proxy", "socks")
"""The parts of httpcore that open a connection; their names begin those of its trace events."""
_STEPS = [f"{layer}.connect_{way}" for layer in _LAYERS for way in ("tcp", "unix_socket")]
_OPENED = frozenset(f"{step}.complete" for step in (*_STEPS, *(f"{each}.start_tls" for each in _LAYERS)))

_NOTED: Mapping[str, Callable[[ExchangeLimits], None]] = {
    **dict.fromkeys((f"{step}.started" for step in _STEPS), ExchangeLimits.connect),
    "http11.send_request_headers.started": ExchangeLimits.reset_for_response_head,
    "http11.receive_response_headers.complete": ExchangeLimits.expect_body,
}

_WRITTEN = 65_536
"""Bytes that are written at most before the time is looked at: a sync timeout of httpcore is per ``send``."""


# httpcore reports ten steps of each request. These two look at most of them only by name, since calls for
# each would be a twentieth of an exchange.


def handle_trace_event(exchange: ExchangeLimits, event: str, details: dict[str, Any]) -> None:
    if event in _OPENED:
        stream = details["return_value"]
        is_sync = isinstance(stream, httpcore.NetworkStream)
        # A task that reads from an HTTP/2 connection reads for all others too; they would share its failure.
        if is_sync or not _is_http2(stream):
            _limit_stream(stream, sync=is_sync)
    elif event in _NOTED:
        _NOTED[event](exchange)


async def handle_async_trace_event(exchange: ExchangeLimits, event: str, details: dict[str, Any]) -> None:
    if event in _OPENED or event in _NOTED:
        handle_trace_event(exchange, event, details)


def _is_http2(stream: httpcore.NetworkStream | httpcore.AsyncNetworkStream) -> bool:
    tls = stream.get_extra_info("ssl_object")
    return tls is not None and tls.selected_alpn_protocol() == "h2"


async def _attempt_before_deadline(
    attempt: Callable[[float | None], _Item | Awaitable[_Item]],
    timeout: float | None,
    failure: type[httpcore.TimeoutException],
) -> _Item:
    if (exchange := current_exchange()) is None:
        return await await_if_awaitable(attempt(timeout))
    try:
        if not exchange.over:
            return await await_if_awaitable(attempt(exchange.cap_timeout(timeout)))
    except failure:
        if not exchange.over:
            raise
    raise failure(exchange.message) from None


def _limit_stream(stream: Any, *, sync: bool) -> None:  # noqa: ANN401 - a network stream of httpcore, of either kind
    read, write = stream.read, stream.write
    # Over HTTP/2, the bytes that arrive are those of several exchanges.
    counts = not _is_http2(stream)

    async def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = await _attempt_before_deadline(partial(read, max_bytes), timeout, httpcore.ReadTimeout)
        exchange = current_exchange() if counts else None
        if exchange is not None and (why := exchange.count_bytes_against_limit(len(data))):
            raise httpcore.RemoteProtocolError(why)
        return data

    async def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN):
            piece = buffer[start : start + _WRITTEN]
            await _attempt_before_deadline(partial(write, piece), timeout, httpcore.WriteTimeout)

    # On this one stream: httpx has no setting for the network backend, which could wrap it.
    if sync:
        vars(stream).update(
            read=lambda *given, **named: immediately(bounded_read(*given, **named)),
            write=lambda *given, **named: immediately(bounded_write(*given, **named)),
        )
    else:
        vars(stream).update(read=bounded_read, write=bounded_write)
