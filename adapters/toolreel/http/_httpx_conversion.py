"""One exchange over httpx: building the request, timeouts, and events for httpx exceptions."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Final, Self, cast

from toolreel._internal.errors import EndpointConfigError, MissingExtra
from toolreel._secrets.known_values import secrets_sent
from toolreel._secrets.urls import shown_url
from toolreel.http._connection_limits import async_trace, trace
from toolreel.http._exchange_limits import Exchange
from toolreel.http._request import AT_ONCE, Address, address_in, blocks
from toolreel.http._response_head_checks import fault_of_head
from toolreel_core._plan.request import Request
from toolreel_core._protocol.events import RequestFailed
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._settings.wire_form import WireForm

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0, read=300.0)
"""Default timeouts, in seconds. Reading may take long: without streaming, a reply arrives when complete."""


class _ShownUrls(logging.Filter):
    """Masks the keys in the URLs that httpx logs, one line a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                shown_url(str(each)) if isinstance(each, httpx.URL) else each for each in record.args
            )
        return True


_SHOWN_URLS: Final = _ShownUrls()


class Requests:
    """Builds the requests of one endpoint.

    :param ours: whether the endpoint made the client, so that nothing else changes it; its headers are then
        merged with ours only once, since that takes httpx a tenth of an exchange
    :raises EndpointConfigError: if httpx cannot use the address
    """

    def __init__(
        self,
        client: httpx.Client | httpx.AsyncClient,
        address: Address,
        timeout: httpx.Timeout | float,
        stall_timeout: float,
        *,
        ours: bool,
    ) -> None:
        self._client = client
        self._address = address
        if shown_url(address.url) != address.url:
            logging.getLogger("httpx").addFilter(_SHOWN_URLS)
        self._trace = async_trace if isinstance(client, httpx.AsyncClient) else trace
        whole = httpx.Timeout(timeout)
        self._timeouts = {False: whole.as_dict(), True: while_streaming(whole, stall_timeout).as_dict()}
        """By whether the reply is streamed."""
        try:
            merged = self._merged("chat_completions")
        except (httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: an international domain name
            raise EndpointConfigError(f"base URL {shown_url(address.url)!r}: {error}") from None
        self._templates: dict[WireForm, httpx.Request] | None = {"chat_completions": merged} if ours else None

    def of(self, request: Request, exchange: Exchange) -> httpx.Request:
        """The httpx request for a request of the core."""
        timeouts, left = self._timeouts[request.streamed], exchange.left
        merged, pieces = self._template(request.form), request.pieces()
        size = sum(map(len, pieces))
        at_once = size <= AT_ONCE
        built = httpx.Request(
            "POST",
            merged.url,
            headers=merged.headers,
            # Not content=, which would need the body as one object, however long it is.
            stream=_Whole(b"".join(pieces)) if at_once else _Blocks(pieces),
            extensions={
                **merged.extensions,
                "timeout": {
                    name: left if timeout is None else min(timeout, left)
                    for name, timeout in timeouts.items()
                },
                "trace": self._trace,
            },
        )
        built.headers["content-length"] = str(size)
        if at_once:
            built.read()  # so that event hooks can use request.content
        return built

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials in each request, also those of a client that the endpoint was given."""
        merged = self._template("chat_completions")
        return secrets_sent(str(merged.url), merged.headers, self._address.credentials)

    def _template(self, form: WireForm) -> httpx.Request:
        if self._templates is None:
            return self._merged(form)
        if form not in self._templates:
            self._templates[form] = self._merged(form)
        return self._templates[form]

    def _merged(self, form: WireForm) -> httpx.Request:
        """A request without a body, with the headers, cookies and parameters of the client."""
        address = address_in(form, self._address)
        return self._client.build_request("POST", address.url, headers=address.headers)


class _Whole(httpx.ByteStream):
    """A request body that is sent at once. Reading the content, httpx keeps a ``ByteStream``, no other."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Awaited(iter((self._body,)))


class _Blocks(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A request body that is sent in blocks."""

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return blocks(self._pieces)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Awaited(blocks(self._pieces))


class _Awaited:
    """An async iterator of blocks. Not a generator: trio warns about those that are cut off by a deadline."""

    def __init__(self, remaining: Iterator[bytes]) -> None:
        self._remaining = remaining

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for block in self._remaining:
            return block
        raise StopAsyncIteration


def while_streaming(timeout: httpx.Timeout, stall_timeout: float) -> httpx.Timeout:
    """The timeouts of a streamed request: the read timeout is at most the stall timeout.

    >>> while_streaming(httpx.Timeout(5.0, read=300.0), 120.0)
    Timeout(connect=5.0, read=120.0, write=5.0, pool=5.0)
    """
    read_ = stall_timeout if timeout.read is None else min(timeout.read, stall_timeout)
    return httpx.Timeout(timeout.connect, read=read_, write=timeout.write, pool=timeout.pool)


def chunks_of(response: httpx.Response) -> Iterator[bytes]:
    """The raw chunks of a body, since httpx decompresses without a limit; see :func:`headers_of`."""
    if response.is_stream_consumed:  # a hook or a mock has read it
        return response.iter_bytes()
    return iter(cast("httpx.SyncByteStream", response.stream))  # iter_raw would add 2 % to an exchange


def async_chunks_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """The same as :func:`chunks_of`, for an async response."""
    if response.is_stream_consumed:
        return response.aiter_bytes()
    return aiter(cast("httpx.AsyncByteStream", response.stream))


def headers_of(response: httpx.Response) -> httpx.Headers:
    """The headers that fit the chunks: those of a body that was read before are decoded already."""
    if not response.is_stream_consumed:
        return response.headers
    return httpx.Headers([(k, v) for k, v in response.headers.multi_items() if k != "content-encoding"])


def fault_of(response: httpx.Response) -> str:
    """What is wrong with the head of a response; empty if nothing."""
    headers = response.headers
    return fault_of_head(response.http_version, headers.raw, sized_in_chunks="transfer-encoding" in headers)


async def hang_up(response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
    """Close the response, then exhaust its generators: trio warns about unfinished async generators."""
    await response.aclose()
    with suppress(httpx.HTTPError, httpx.StreamError):
        [_ async for _ in chunks]


def lost(ref: int, error: httpx.HTTPError | httpx.InvalidURL) -> RequestFailed:
    """The event for an httpx exception.

    Only ``httpx.HTTPError`` becomes an event, and ``InvalidURL``, which is a redirect to no URL. A stale
    cassette raises another class, so that it cannot look
    like a failure of the provider.
    """
    kind: FailureKind = "broken"
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        kind = "connect"
    elif isinstance(error, httpx.TimeoutException):
        kind = "timeout"
    return RequestFailed(
        ref, kind, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    )
