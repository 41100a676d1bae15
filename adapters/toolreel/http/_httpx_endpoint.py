"""The HTTP endpoints over httpx: a sync one, and one for asyncio and trio."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import replace
from functools import cache, lru_cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Generic, Self, TypeVar, cast

from toolreel._driver import (
    Listener,
    ReplyPiece,
    await_if_awaitable,
    generate_items_in_scopes,
    immediately,
    items_without_suspending,
    notify,
)
from toolreel._internal import EndpointConfigError, MissingExtra
from toolreel._secrets import (
    Secret,
    scrubbed,
    scrubbed_body,
    secrets_in_request,
    secrets_to_scrub,
    url_safe_to_log,
)
from toolreel.http._request import (
    AUTHORIZATION,
    CREDENTIALS,
    MAX_RESPONSE_BYTES,
    NO_HEADERS,
    Address,
    address_for_form,
)
from toolreel.http._response_reader import (
    EXCHANGE_DEADLINE,
    GRACE,
    STALL_TIMEOUT,
    BodyError,
    ExchangeLimits,
    IncomingReply,
    failure_event,
    make_exchange_current,
)
from toolreel.http._transport_pool import (
    MAX_REQUESTS,
    AnyProxy,
    handle_async_trace_event,
    handle_trace_event,
    pooled_transport,
)
from toolreel_core._plan import Request
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._replies import Delta
from toolreel_core._settings import API_PREFIX

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

_Client = TypeVar("_Client", bound="httpx.Client | httpx.AsyncClient")
_Transport = TypeVar("_Transport")

TIMEOUT = httpx.Timeout(30.0, connect=10.0, read=300.0)
"""Default timeouts, in seconds. Reading may take long: without streaming, a reply arrives when complete."""


@contextmanager
def limit_piece_wait(exchange: ExchangeLimits) -> Generator[None, None, None]:
    """Limit what is awaited for one piece, as ``send`` does for the whole exchange."""
    with make_exchange_current(exchange), anyio.move_on_after(exchange.left + GRACE):
        yield


def async_chunks_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """The raw chunks of a body, since httpx decompresses without a limit.

    :func:`headers_matching_body_bytes` has the headers that fit them.
    """
    if response.is_stream_consumed:  # a hook or a mock has read it
        return response.aiter_bytes()
    return aiter(cast("httpx.AsyncByteStream", response.stream))


@asynccontextmanager
async def async_response_chunks(
    response: httpx.Response,
) -> AsyncGenerator[tuple[httpx.Response, AsyncIterator[bytes]]]:
    """The response and its chunks; it is closed at the end of the block."""
    chunks = async_chunks_of(response)
    try:
        yield response, chunks
    finally:
        await response.aclose()
        with suppress(httpx.HTTPError, httpx.StreamError):
            # Exhausts its generators: trio warns about unfinished async generators.
            [_ async for _ in chunks]


@asynccontextmanager
async def sync_response_chunks(
    response: httpx.Response,
) -> AsyncGenerator[tuple[httpx.Response, AsyncIterator[bytes]]]:
    """The same for a sync response."""

    async def chunks() -> AsyncGenerator[bytes, None]:
        stream: Any = response.iter_bytes() if response.is_stream_consumed else response.stream
        for chunk in stream:
            yield chunk

    async with aclosing(chunks()) as each:
        with closing(response):
            yield response, each


class _HttpxEndpoint(Generic[_Client, _Transport]):
    """The settings of both endpoints, and the requests that they send."""

    _client_type: type[_Client]
    _trace: Callable[..., object]
    """What httpcore calls with the steps of a request, for an exchange."""
    _scope: Callable[[ExchangeLimits], AbstractContextManager[object]]
    """Limits what happens inside to the time of an exchange."""
    _response_chunks: Callable[
        [Any], AbstractAsyncContextManager[tuple[httpx.Response, AsyncIterator[bytes]]]
    ]
    """The response and its chunks; it is closed at the end of the block."""

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
        deadline: float = EXCHANGE_DEADLINE,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        transport: _Transport | _Client | None = None,
        proxy: AnyProxy | None = None,
        http2: bool = False,
        connections: int = MAX_REQUESTS,
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
        self._begin_exchange = partial(ExchangeLimits, deadline, max_response_bytes, stall_timeout, now)
        self._on_delta = on_delta
        self._timeouts = httpx.Timeout(timeout).as_dict()
        self._owns_client = not isinstance(transport, self._client_type)
        client: Any = transport
        if self._owns_client:
            over = transport or pooled_transport(
                self.address.url,
                is_async=issubclass(self._client_type, httpx.AsyncClient),
                proxy=proxy,
                http2=http2,
                connections=connections,
            )
            # What a server tells one run must not show in the requests of another.
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            client = cast("Any", self._client_type)(transport=over, cookies=no_cookies)
        self._client: _Client = client
        self._parsed_target = cache(
            lambda form: _parsed_url_and_headers(address_for_form(form, self.address))
        )
        # Hooks and auth of a client may add credentials to a request; mostly each has the same.
        self._secrets_in = lru_cache(maxsize=8)(
            lambda url, headers: secrets_in_request(url, httpx.Headers(headers), self.address.credentials)
        )
        self._parsed_target("chat_completions")  # what is wrong with it is told now
        if url_safe_to_log(self.address.url) != self.address.url:
            # All endpoints share this logger; it adds the same function only once.
            logging.getLogger("httpx").addFilter(_mask_urls)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials in each request, also those of a client that the endpoint was given."""
        url, headers = self._parsed_target("chat_completions")
        return self._secrets_sent_by(self._client.build_request("POST", url, headers=headers))

    def _secrets_sent_by(self, request: httpx.Request) -> dict[str, str]:
        # The length differs in nearly every request, which would defeat the cache.
        headers = tuple([pair for pair in request.headers.raw if pair[0] != b"Content-Length"])
        return self._secrets_in(str(request.url), headers)

    def _failure_event(self, ref: int, error: httpx.HTTPError | httpx.InvalidURL) -> RequestFailed:
        """The event for an exception, whose text may quote a URL with its key."""
        event, secrets = failure_event(ref, error), secrets_to_scrub(self.secrets)
        return replace(
            event, message=scrubbed(event.message, secrets), body=scrubbed_body(event.body, secrets)
        )

    def _request(self, request: Request, exchange: ExchangeLimits) -> httpx.Request:
        url, headers = self._parsed_target(request.form)
        body = b"".join(request.pieces())
        # No timeout is longer than what is left, and in a stream, none for reading than that for a stall.
        left = exchange.left
        limits = {name: left if each is None else min(each, left) for name, each in self._timeouts.items()}
        if request.streamed:
            limits["read"] = min(limits["read"], exchange.stall_timeout)
        built = self._client.build_request(
            "POST",
            url,
            headers=headers,
            content=body,
            extensions={
                "timeout": limits,
                "trace": partial(type(self)._trace, exchange),
                CREDENTIALS: self.address.credentials,
            },
        )
        built.stream = _Body(body)
        return built

    async def _send_request(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        exchange = self._begin_exchange()
        # Connections of httpcore observe the deadline themselves, so that a recording has the failure.
        # The scope is for all else: slow name servers, HTTP/2, transports that ignore `trace`.
        event: ReplyReceived | RequestFailed = RequestFailed(effect.ref, "timeout", exchange.message)
        with type(self)._scope(exchange):
            async for piece in self._reply_pieces(effect, exchange):
                if not isinstance(piece, Delta):
                    event = piece
        return event

    async def _stream_reply(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        exchange = self._begin_exchange()
        answered = False
        pulling = generate_items_in_scopes(
            self._reply_pieces(effect, exchange), lambda: type(self)._scope(exchange)
        )
        async with aclosing(pulling) as pieces:
            async for piece in pieces:
                answered = not isinstance(piece, Delta)
                since = exchange.now()
                yield piece
                exchange.rested += exchange.now() - since
        if not answered:
            yield RequestFailed(effect.ref, "timeout", exchange.message)

    async def _reply_pieces(
        self, effect: SendRequest, exchange: ExchangeLimits
    ) -> AsyncGenerator[ReplyPiece, None]:
        status, rest = None, tuple[Delta, ...]()
        listener = self._on_delta if effect.purpose == "turn" else None
        event: ReplyReceived | RequestFailed
        try:
            request = self._request(effect.request, exchange)
            sent: Any = self._client.send(request, stream=True)
            async with type(self)._response_chunks(await await_if_awaitable(sent)) as (response, chunks):
                status = response.status_code
                secrets = secrets_to_scrub(self._secrets_sent_by(response.request))
                incoming = IncomingReply(
                    exchange, effect, status, headers_matching_body_bytes(response), secrets
                )
                async for chunk in chunks:
                    deltas = incoming.read_chunk(chunk)
                    notify(listener, deltas)
                    for delta in deltas:
                        yield delta
                    if incoming.over:  # some servers keep the connection open after [DONE]
                        break
                rest, event = incoming.finish_reply()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            event = self._failure_event(effect.ref, error)
        except BodyError as error:  # without a status, from a recording transport, which reads the body
            event = error.event(effect.ref, status)
        notify(listener, rest)
        for delta in rest:
            yield delta
        yield event


class HttpEndpoint(_HttpxEndpoint[httpx.Client, httpx.BaseTransport]):
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

    _client_type = httpx.Client
    _trace = staticmethod(handle_trace_event)
    _scope = staticmethod(make_exchange_current)
    _response_chunks = staticmethod(sync_response_chunks)

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        return immediately(self._send_request(effect))

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns.

        Nothing is read while you use a piece. Closing the generator closes the response.
        """
        return items_without_suspending(self._stream_reply(effect))

    def close(self) -> None:
        """Close the connections; a client that you passed stays open."""
        if self._owns_client:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncHttpEndpoint(_HttpxEndpoint[httpx.AsyncClient, httpx.AsyncBaseTransport]):
    """An endpoint for any server with an OpenAI-compatible chat completions API (asyncio and trio).

    Its parameters are those of :class:`HttpEndpoint`, with an async transport or client.
    """

    _client_type = httpx.AsyncClient
    _trace = staticmethod(handle_async_trace_event)
    _scope = staticmethod(limit_piece_wait)
    _response_chunks = staticmethod(async_response_chunks)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        return await self._send_request(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns."""
        return self._stream_reply(effect)

    async def aclose(self) -> None:
        """Close the connections; a client that you passed stays open."""
        if self._owns_client:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _mask_urls(record: logging.LogRecord) -> bool:
    """Mask the keys in the URLs that httpx logs, one line a request."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            url_safe_to_log(str(each)) if isinstance(each, httpx.URL) else each for each in record.args
        )
    return True


class _Body(httpx.ByteStream):
    """A request body. An async generator would not do: trio warns about one that a deadline cuts off."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._body, self._is_read = body, False

    def __aiter__(self) -> Self:
        self._is_read = False
        return self

    async def __anext__(self) -> bytes:
        if self._is_read:
            raise StopAsyncIteration
        self._is_read = True
        return self._body


def _parsed_url_and_headers(address: Address) -> tuple[httpx.URL, httpx.Headers]:
    try:
        url = httpx.URL(address.url)
        _ = url.host  # decodes an international domain name
        return url, httpx.Headers(address.headers)
    except (httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: an international domain name
        raise EndpointConfigError(f"base URL {url_safe_to_log(address.url)!r}: {error}") from None


def headers_matching_body_bytes(response: httpx.Response) -> httpx.Headers:
    """The headers that fit the chunks: those of a body that was read before are decoded already."""
    if not response.is_stream_consumed:
        return response.headers
    return httpx.Headers([(k, v) for k, v in response.headers.multi_items() if k != "content-encoding"])
