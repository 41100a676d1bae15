"""The HTTP endpoints over httpx: a sync one, and one for asyncio and trio."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, closing, contextmanager
from typing import Generic, TypeVar

from toolreel._driver.ports import Listener
from toolreel._driver.streaming.pulling import aevent_of, apulled, event_of, pulled
from toolreel._internal.errors import MissingExtra
from toolreel._secrets.secret import Secret
from toolreel.http._bounded_decoder import Stalled, TooLarge, UndecodableBody
from toolreel.http._connection_limits import limited
from toolreel.http._exchange_limits import GRACE, Exchange
from toolreel.http._httpx_conversion import (
    TIMEOUT,
    Requests,
    async_chunks_of,
    chunks_of,
    fault_of,
    hang_up,
    headers_of,
    lost,
)
from toolreel.http._request import (
    DEADLINE,
    MAX_RESPONSE_BYTES,
    STALL_TIMEOUT,
    Address,
    AsyncClosing,
    Closing,
)
from toolreel.http._request_headers import AUTHORIZATION, NO_HEADERS
from toolreel.http._response_events import broken
from toolreel.http._response_reader import Incoming, Intake
from toolreel.http._transport_pool import CONNECTIONS, AnyProxy, async_transport, sync_transport
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._settings.chat_url import API_PREFIX

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

_Client = TypeVar("_Client", bound="httpx.Client | httpx.AsyncClient")
_Transport = TypeVar("_Transport")


class _HttpxEndpoint(ABC, Generic[_Client, _Transport]):
    """The settings of both endpoints."""

    def __init__(  # noqa: PLR0913 - settings are keyword arguments
        self,
        base_url: str,
        *,
        api_key: str | Secret | None = None,
        api_key_env: str | None = None,
        api_prefix: str = API_PREFIX,
        headers: Mapping[str, str] = NO_HEADERS,
        api_key_header: str = AUTHORIZATION,
        timeout: httpx.Timeout | float = TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        stall_timeout: float = STALL_TIMEOUT,
        deadline: float = DEADLINE,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        transport: _Transport | _Client | None = None,
        proxy: AnyProxy | None = None,
        http2: bool = False,
        connections: int = CONNECTIONS,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.address = Address.of(
            base_url,
            api_key_env,
            environ,
            api_prefix=api_prefix,
            headers=headers,
            api_key_header=api_key_header,
            api_key=api_key,
        )
        self._intake = Intake(max_response_bytes, stall_timeout, on_delta, now, deadline)
        self._client, self._transport = self._connected(transport, proxy, connections, http2=http2)
        self._requests = Requests(
            self._client, self.address, timeout, stall_timeout, ours=self._transport is not None
        )

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials in each request, by their place: nothing that says them back is recorded."""
        return self._requests.secrets

    @abstractmethod
    def _connected(
        self, given: _Transport | _Client | None, proxy: AnyProxy | None, connections: int, *, http2: bool
    ) -> tuple[_Client, _Transport | None]:
        """The given client, or one over the given transport or the default one, with that transport.

        A client of our own merges the headers of requests and closes the transport. Requests go to the
        transport directly: redirects, cookies and authentication are of no use to an endpoint, and take
        httpx a twentieth of an exchange.
        """


class HttpEndpoint(_HttpxEndpoint[httpx.Client, httpx.BaseTransport], Closing):
    """An endpoint for any server with an OpenAI-compatible chat completions API, over httpx.

    Failures of the server or the network do not raise: they become events, so that the run can retry or end.

    :param base_url: base URL of the API, with or without ``/v1``, for example ``http://127.0.0.1:8080``
    :param api_key: the API key itself; sent as a bearer token, never recorded and never shown
    :param api_key_env: name of the environment variable that holds the API key, instead of the key itself;
        without either, no key is sent
    :param api_prefix: path between the base URL and ``/chat/completions``, unless the base URL has a version
        or is complete; empty for none, as for the deployments of Azure
    :param headers: further headers of each request; their values are not recorded and not shown, like the key
    :param api_key_header: header that carries the key; in any other than ``Authorization``, such as
        ``api-key``, the key is sent without ``Bearer``
    :param timeout: httpx timeouts, in seconds; a number sets all four of them
    :param max_response_bytes: maximum size of a response body in bytes, decompressed and compressed; a larger
        one fails as ``too_large``
    :param stall_timeout: seconds without text or tool calls from the model after which a stream fails as
        ``timeout``; keep-alive comments of the server do not count
    :param deadline: seconds that an exchange may take in all, from waiting for a connection to the last byte;
        then it fails as ``timeout``. It is never longer than what is left of the run's ``max_wall_ms``
    :param on_delta: callback for each piece of a reply, as it arrives
    :param now: monotonic clock, in seconds
    :param transport: an httpx transport (for example one of a cassette) or an httpx client (with your hooks,
        auth and proxies), used as is; the endpoint closes a transport, but not a client. By default the
        endpoint makes its own client
    :param proxy: URL of a proxy for the default transport; by default, the proxy that the environment
        variables name
    :param http2: whether the default transport offers HTTP/2; needs the extra ``http2``
    :param connections: maximum number of concurrent requests; further requests wait
    :param environ: environment in which ``api_key_env`` is looked up; by default that of this process
    :raises EndpointConfigError: if the URL, the proxy or a header is not usable, or the key's variable is
        not set
    :raises MissingExtra: if ``http2`` is set and its package is not installed
    """

    def _connected(
        self,
        given: httpx.BaseTransport | httpx.Client | None,
        proxy: AnyProxy | None,
        connections: int,
        *,
        http2: bool,
    ) -> tuple[httpx.Client, httpx.BaseTransport | None]:
        if isinstance(given, httpx.Client):
            return given, None
        transport = given or sync_transport(
            self.address.url, proxy=proxy, http2=http2, connections=connections
        )
        return httpx.Client(transport=transport), transport

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        exchange = self._intake.begin()
        with limited(exchange):
            return event_of(self._pieces(effect, exchange))

    def stream(self, effect: SendRequest) -> Generator[Delta | ReplyReceived | RequestFailed, None, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns.

        Nothing is read while you use a piece. Closing the generator closes the response.
        """
        exchange = self._intake.begin()
        with closing(pulled(self._pieces(effect, exchange), lambda: limited(exchange))) as pieces:
            for piece in pieces:
                since = self._intake.now()
                yield piece
                exchange.rested += self._intake.now() - since

    def _pieces(
        self, effect: SendRequest, exchange: Exchange
    ) -> Generator[Delta | ReplyReceived | RequestFailed, None, None]:
        try:
            with (
                closing(self._begun(self._requests.of(effect.request, exchange))) as response,
                closing(self._read(effect, exchange, response)) as pieces,
            ):
                yield from pieces
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            yield lost(effect.ref, error)
        except TooLarge as error:  # raised by a recording transport, which reads the body itself
            yield broken(effect.ref, None, error)

    def _begun(self, request: httpx.Request) -> httpx.Response:
        """The response to a request, of which only the head has been read."""
        if self._transport is None or self._client.is_closed:  # the client says so in its exception
            return self._client.send(request, stream=True)
        return self._transport.handle_request(request)

    def _read(
        self, effect: SendRequest, exchange: Exchange, response: httpx.Response
    ) -> Generator[Delta | ReplyReceived | RequestFailed, None, None]:
        if fault := fault_of(response):
            yield RequestFailed(effect.ref, "broken", fault)
            return
        chunks = chunks_of(response)
        try:
            incoming = Incoming(self._intake, exchange, effect, response.status_code, headers_of(response))
            for chunk in chunks:
                for delta in incoming.take(chunk):
                    yield delta
                if incoming.over:  # some servers keep the connection open after [DONE]
                    break
            rest, event = incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            rest, event = (), broken(effect.ref, response.status_code, error)
        for delta in rest:
            yield delta
        yield event

    def close(self) -> None:
        """Close the connections; a client that you passed stays open."""
        if self._transport is not None:
            self._client.close()


class AsyncHttpEndpoint(_HttpxEndpoint[httpx.AsyncClient, httpx.AsyncBaseTransport], AsyncClosing):
    """An endpoint for any server with an OpenAI-compatible chat completions API (asyncio and trio).

    Its parameters are those of :class:`HttpEndpoint`, with an async transport or client.
    """

    def _connected(
        self,
        given: httpx.AsyncBaseTransport | httpx.AsyncClient | None,
        proxy: AnyProxy | None,
        connections: int,
        *,
        http2: bool,
    ) -> tuple[httpx.AsyncClient, httpx.AsyncBaseTransport | None]:
        if isinstance(given, httpx.AsyncClient):
            return given, None
        transport = given or async_transport(
            self.address.url, proxy=proxy, http2=http2, connections=connections
        )
        return httpx.AsyncClient(transport=transport), transport

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        exchange = self._intake.begin()
        # Connections of httpcore observe the deadline themselves, so that a recording has the failure.
        # The scope is for all else: slow name servers, HTTP/2, transports that ignore `trace`.
        with limited(exchange), anyio.move_on_after(exchange.left + GRACE):
            return await aevent_of(self._pieces(effect, exchange))
        return RequestFailed(effect.ref, "timeout", exchange.message)

    async def stream(
        self, effect: SendRequest
    ) -> AsyncGenerator[Delta | ReplyReceived | RequestFailed, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns.

        Nothing is read while you use a piece. Closing the generator closes the response.
        """
        exchange = self._intake.begin()
        answered = False
        async with aclosing(apulled(self._pieces(effect, exchange), lambda: within(exchange))) as pieces:
            async for piece in pieces:
                answered = not isinstance(piece, Delta)
                since = self._intake.now()
                yield piece
                exchange.rested += self._intake.now() - since
        if not answered:
            yield RequestFailed(effect.ref, "timeout", exchange.message)

    async def _pieces(
        self, effect: SendRequest, exchange: Exchange
    ) -> AsyncGenerator[Delta | ReplyReceived | RequestFailed, None]:
        try:
            async with (
                aclosing(await self._begun(self._requests.of(effect.request, exchange))) as response,
                aclosing(self._read(effect, exchange, response)) as pieces,
            ):
                async for piece in pieces:
                    yield piece
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            yield lost(effect.ref, error)
        except TooLarge as error:  # raised by a recording transport, which reads the body itself
            yield broken(effect.ref, None, error)

    async def _begun(self, request: httpx.Request) -> httpx.Response:
        if self._transport is None or self._client.is_closed:
            return await self._client.send(request, stream=True)
        return await self._transport.handle_async_request(request)

    async def _read(
        self, effect: SendRequest, exchange: Exchange, response: httpx.Response
    ) -> AsyncGenerator[Delta | ReplyReceived | RequestFailed, None]:
        if fault := fault_of(response):
            yield RequestFailed(effect.ref, "broken", fault)
            return
        chunks = async_chunks_of(response)
        try:
            incoming = Incoming(self._intake, exchange, effect, response.status_code, headers_of(response))
            async for chunk in chunks:
                for delta in incoming.take(chunk):
                    yield delta
                if incoming.over:  # some servers keep the connection open after [DONE]
                    await hang_up(response, chunks)
                    break
            rest, event = incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            await hang_up(response, chunks)
            rest, event = (), broken(effect.ref, response.status_code, error)
        except GeneratorExit:  # the reader of the stream has seen enough
            await hang_up(response, chunks)
            raise
        for delta in rest:
            yield delta
        yield event

    async def aclose(self) -> None:
        """Close the connections; a client that you passed stays open."""
        if self._transport is not None:
            await self._client.aclose()


@contextmanager
def within(exchange: Exchange) -> Generator[None, None, None]:
    """Limit what is awaited for one piece, as ``send`` does for the whole exchange."""
    with limited(exchange), anyio.move_on_after(exchange.left + GRACE):
        yield
