"""Endpoints over pyreqwest: a sync one, and one for asyncio.

pyreqwest blocks in Rust and does not check for signals while it waits. Python handles signals in the main
thread only, so there the exchange runs in another thread, and is aborted on ``KeyboardInterrupt``.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from datetime import timedelta
from functools import cache
from math import inf
from types import coroutine
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from toolreel._driver.ports import Listener
from toolreel._driver.streaming.pulling import aevent_of, event_of
from toolreel._internal.errors import EndpointConfigError, MissingExtra
from toolreel._secrets.secret import Secret
from toolreel._secrets.urls import shown_url
from toolreel.http._bounded_decoder import Stalled, TooLarge, UndecodableBody
from toolreel.http._exchange_limits import Exchange
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
from toolreel.http._response_head_checks import READ_HEADERS, UNREADABLE, fault_of_coding
from toolreel.http._response_reader import Incoming, Intake
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._settings.chat_url import API_PREFIX

try:
    from pyreqwest.client import Client, ClientBuilder, SyncClient, SyncClientBuilder
    from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError, RequestTimeoutError
    from pyreqwest.http import Url
except ImportError:
    raise MissingExtra.of("fast", "pyreqwest") from None

if TYPE_CHECKING:
    from pyreqwest.client import BaseClientBuilder
    from pyreqwest.response import BaseResponse, Response, SyncResponse


_Reply: TypeAlias = ReplyReceived | RequestFailed
_Result = TypeVar("_Result")


@coroutine
def _as_cancelled(sending: Coroutine[Any, Any, _Result]) -> Generator[Any, Any, _Result]:
    """Run the coroutine; on cancellation, raise the original ``CancelledError`` again.

    pyreqwest raises a new one, which anyio's cancel scopes do not recognize as theirs.
    """
    original: asyncio.CancelledError | None = None
    try:
        # Drives the coroutine by hand, as ``await`` would, to see the exception that is thrown in.
        waiting = sending.send(None)
        while True:
            try:
                result = yield waiting
            except asyncio.CancelledError as error:
                original = error
                waiting = sending.throw(error)
            else:
                waiting = sending.send(result)
    except StopIteration as ended:
        return cast("_Result", ended.value)
    except asyncio.CancelledError as own:
        raise original or own from None
    finally:
        sending.close()


@cache
def _sender_thread() -> ThreadPoolExecutor:
    """The thread that runs the exchanges of the main thread."""
    return ThreadPoolExecutor(1, "toolreel-fast")


_Builder = TypeVar("_Builder", bound="BaseClientBuilder")

_CONNECTIONS: Final = 1_000
"""Default maximum number of concurrent requests; further requests wait."""

_CONNECT_TIMEOUT: Final = 10.0
"""Default connect timeout, in seconds."""

_TIMEOUT: Final = 300.0
"""Default read timeout, in seconds; without streaming, nothing arrives before the reply is done."""

_PIECE: Final = 1
"""Bytes of a body to read ahead. With 1, the first chunk arrives together with the headers, which saves a
switch of threads, and no chunk of a stream waits for the next."""

_CONNECTING: Final = "client error (Connect)"
"""The cause by which hyper-util, under reqwest, marks a failed connection."""

_MESSAGES: Final[dict[FailureKind, str]] = {
    "connect": "could not connect",
    "timeout": "timed out",
    "broken": "the exchange broke off",
}


def _target(address: Address) -> Url:
    """The URL of an address, parsed once instead of for each request.

    :raises EndpointConfigError: if it is invalid
    """
    try:
        return Url(address.url)
    except ValueError as error:
        raise EndpointConfigError(f"base URL {shown_url(address.url)!r}: {error}") from None


def _content_length(response: BaseResponse) -> float:
    """The length of the body in bytes; infinite if the headers do not give it.

    Also infinite for HTTP/2, which marks the end of a body separately: a client that stops before that resets
    the stream, and servers count resets.
    """
    length = _header(response, "content-length")
    has_length = response.version == "HTTP/1.1" and not _header(response, "transfer-encoding")
    return int(length) if has_length and length.isdecimal() else inf


def _lost(ref: int, error: PyreqwestError, exchange: Exchange) -> RequestFailed:
    """The event for a pyreqwest exception.

    Its own message contains the URL with the query, which may hold a key, so only the last cause is quoted.
    Its classes do not tell a failed connection from a missing reply; the causes do.
    """
    causes = (error.details.get("causes") if isinstance(error, DetailedPyreqwestError) else None) or []
    messages = [cause["message"] for cause in causes]
    kind: FailureKind = "broken"
    if isinstance(error, RequestTimeoutError) and exchange.over:
        return RequestFailed(ref, "timeout", f"{_MESSAGES['timeout']}: {exchange.message}")
    if _CONNECTING in messages:
        kind = "connect"
    elif isinstance(error, RequestTimeoutError):
        kind = "timeout"
    why = messages[-1] if len(messages) > 1 else error.message
    return RequestFailed(ref, kind, f"{_MESSAGES[kind]}: {why}")


def _headers(response: BaseResponse) -> dict[str, str]:
    """The headers that are read, by their names in lower case."""
    return {name: _header(response, name) for name in READ_HEADERS}


def _header(response: BaseResponse, name: str) -> str:
    try:
        return ", ".join(response.get_header_all(name))
    except ValueError:  # a byte above 127
        return UNREADABLE


def _fault(response: BaseResponse) -> str:
    """What is wrong with the head of a response; empty if nothing."""
    return fault_of_coding(response.status, _header(response, "transfer-encoding"))


_Client = TypeVar("_Client")


class _FastEndpoint(ABC, Generic[_Client]):
    """Settings and clients of both endpoints."""

    def __init__(  # noqa: PLR0913 - settings are keyword arguments
        self,
        base_url: str,
        *,
        api_key: str | Secret | None = None,
        api_key_env: str | None = None,
        api_prefix: str = API_PREFIX,
        headers: Mapping[str, str] = NO_HEADERS,
        api_key_header: str = AUTHORIZATION,
        timeout: float = _TIMEOUT,
        connect_timeout: float = _CONNECT_TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        stall_timeout: float = STALL_TIMEOUT,
        deadline: float = DEADLINE,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        http2: bool = False,
        connections: int = _CONNECTIONS,
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
        self._url = _target(self.address)
        self._intake = Intake(max_response_bytes, stall_timeout, on_delta, now, deadline)
        self._timeout, self._stall_timeout, self._connect_timeout = timeout, stall_timeout, connect_timeout
        self._connections, self._http2 = connections, http2
        # One client for streamed requests and one for others, as their timeouts differ.
        self._clients: dict[bool, _Client] = {False: self._build(streamed=False)}
        self._closed = False
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        """Of an async endpoint, since a semaphore belongs to one event loop."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials in each request, by their place: nothing that says them back is recorded."""
        return self.address.secrets

    @abstractmethod
    def _build(self, *, streamed: bool) -> _Client:
        """A client with the settings."""

    def _configured(self, builder: _Builder, *, streamed: bool) -> _Builder:
        """The builder with the settings; when streaming, the read timeout is at most the stall timeout.

        :raises EndpointConfigError: if a setting is invalid
        """
        read_timeout = min(self._timeout, self._stall_timeout) if streamed else self._timeout
        try:
            builder.read_timeout(timedelta(seconds=read_timeout))
            builder.connect_timeout(timedelta(seconds=self._connect_timeout))
            builder.max_connections(self._connections)
            builder.default_headers(dict(self.address.headers))
        except ValueError as error:
            raise EndpointConfigError(f"invalid settings of the endpoint: {error}") from None
        # Not decompressed, since pyreqwest would do it without a limit.
        builder.http1_allow_obsolete_multiline_headers_in_responses(True)  # as h11 does
        builder.gzip(False).brotli(False).zstd(False).deflate(False)
        return builder.follow_redirects(False).referer(False).http2(self._http2)

    def _get(self, *, streamed: bool) -> _Client:
        """The client for a request; made at its first use."""
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        if streamed not in self._clients:
            self._clients[streamed] = self._build(streamed=streamed)
        return self._clients[streamed]

    def _take_all(self) -> list[_Client]:
        """The clients, to be closed; the next request makes a new one."""
        return [self._clients.pop(streamed) for streamed in (*self._clients,)]


class FastEndpoint(_FastEndpoint[SyncClient], Closing):
    """An endpoint for any OpenAI-compatible chat completions API, over a client in Rust.

    Its traffic cannot be recorded, and the pytest plugin cannot block it in tests that replay.

    The other parameters are those of :class:`toolreel.http.HttpEndpoint`.

    :param timeout: read timeout, in seconds
    :param connect_timeout: connect timeout, in seconds
    :param http2: whether to offer HTTP/2
    :raises EndpointConfigError: if the URL or a setting is invalid, or the key's variable is not set
    """

    def _build(self, *, streamed: bool) -> SyncClient:
        return self._configured(SyncClientBuilder(), streamed=streamed).build()

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        # Waiting in Rust would hold up Ctrl-C, so another thread waits for the main thread.
        exchange = self._intake.begin()
        return self._apart(lambda: event_of(self._pieces(effect, exchange)))

    def stream(self, effect: SendRequest) -> Generator[Delta | _Reply, None, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns.

        Nothing is read while you use a piece. Closing the generator closes the response.
        """
        exchange = self._intake.begin()
        pieces = self._pieces(effect, exchange)
        try:
            while (piece := self._apart(lambda: next(pieces, None))) is not None:
                since = self._intake.now()
                yield piece
                exchange.rested += self._intake.now() - since
        finally:
            self._apart(pieces.close)

    def _apart(self, wait: Callable[[], _Result]) -> _Result:
        """Wait in another thread where this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return wait()
        answer = _sender_thread().submit(wait)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self.abort()
            raise

    def _pieces(self, effect: SendRequest, exchange: Exchange) -> Generator[Delta | _Reply, None, None]:
        client = self._get(streamed=effect.request.streamed)
        builder = client.post(self._url).body_bytes(effect.request.body.encode())
        builder.timeout(timedelta(seconds=exchange.left))
        request = builder.streamed_read_buffer_limit(_PIECE).build_streamed()
        try:
            with request as response, closing(self._read(effect, exchange, response)) as pieces:
                yield from pieces
        except PyreqwestError as error:
            yield _lost(effect.ref, error, exchange)

    def _read(
        self, effect: SendRequest, exchange: Exchange, response: SyncResponse
    ) -> Generator[Delta | _Reply, None, None]:
        if fault := _fault(response):
            yield RequestFailed(effect.ref, "broken", fault)
            return
        reader = response.body_reader
        try:
            incoming = Incoming(self._intake, exchange, effect, response.status, _headers(response))
            # Waiting for the end of a body that is complete would cost another switch of threads.
            remaining = _content_length(response)
            while remaining and not incoming.over:
                chunk = reader.read_chunk()
                if chunk is None:
                    break
                for delta in incoming.take(chunk.to_bytes()):
                    yield delta
                remaining -= len(chunk)
            rest, event = incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            rest, event = (), broken(effect.ref, response.status, error)
        for delta in rest:
            yield delta
        yield event

    def abort(self) -> None:
        """Abort all requests; the next one opens a new connection."""
        for client in self._take_all():
            client.close()

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self.abort()


class AsyncFastEndpoint(_FastEndpoint[Client], AsyncClosing):
    """An endpoint for any OpenAI-compatible chat completions API, over a client in Rust (asyncio only).

    Its parameters are those of :class:`FastEndpoint`. A cancelled request makes room for another at once. If
    the server has not begun to answer, the connection stays open until it does, or until a timeout.
    """

    def _build(self, *, streamed: bool) -> Client:
        # pyreqwest goes on with a cancelled request, which would keep its place; so the places are ours.
        return self._configured(ClientBuilder(), streamed=streamed).max_connections(None).build()

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        exchange = self._intake.begin()
        places = self._own_places()
        if not await _entered(places, exchange):
            return RequestFailed(effect.ref, "timeout", f"{_MESSAGES['timeout']}: {exchange.message}")
        try:
            return await _as_cancelled(aevent_of(self._pieces(effect, exchange)))
        finally:
            places.release()

    async def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | _Reply, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns.

        Nothing is read while you use a piece. Closing the generator closes the response.
        """
        exchange = self._intake.begin()
        places = self._own_places()
        if not await _entered(places, exchange):
            yield RequestFailed(effect.ref, "timeout", f"{_MESSAGES['timeout']}: {exchange.message}")
            return
        pieces = self._pieces(effect, exchange)
        try:
            while (piece := await _as_cancelled(_next(pieces))) is not None:
                since = self._intake.now()
                yield piece
                exchange.rested += self._intake.now() - since
        finally:
            try:
                await pieces.aclose()
            finally:
                places.release()

    def _own_places(self) -> asyncio.Semaphore:
        """The places of this event loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise EndpointConfigError(
                "the fast endpoint works only with asyncio; on trio, use AsyncHttpEndpoint"
            ) from None
        return self._places.setdefault(loop, asyncio.Semaphore(self._connections))

    async def _pieces(self, effect: SendRequest, exchange: Exchange) -> AsyncGenerator[Delta | _Reply, None]:
        client = self._get(streamed=effect.request.streamed)
        builder = client.post(self._url).body_bytes(effect.request.body.encode())
        builder.timeout(timedelta(seconds=exchange.left))
        request = builder.streamed_read_buffer_limit(_PIECE).build_streamed()
        try:
            async with request as response, aclosing(self._read(effect, exchange, response)) as pieces:
                async for piece in pieces:
                    yield piece
        except PyreqwestError as error:
            yield _lost(effect.ref, error, exchange)

    async def _read(
        self, effect: SendRequest, exchange: Exchange, response: Response
    ) -> AsyncGenerator[Delta | _Reply, None]:
        if fault := _fault(response):
            yield RequestFailed(effect.ref, "broken", fault)
            return
        reader = response.body_reader
        try:
            incoming = Incoming(self._intake, exchange, effect, response.status, _headers(response))
            # Waiting for the end of a body that is complete would cost another switch of threads.
            remaining = _content_length(response)
            while remaining and not incoming.over:
                chunk = await reader.read_chunk()
                if chunk is None:
                    break
                for delta in incoming.take(chunk.to_bytes()):
                    yield delta
                remaining -= len(chunk)
            rest, event = incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            rest, event = (), broken(effect.ref, response.status, error)
        for delta in rest:
            yield delta
        yield event

    async def abort(self) -> None:
        """Abort all requests; the next one opens a new connection."""
        for client in self._take_all():
            await client.close()

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        await self.abort()


async def _entered(places: asyncio.Semaphore, exchange: Exchange) -> bool:
    """Whether there was a place before the deadline."""
    try:
        async with asyncio.timeout(exchange.left):
            await places.acquire()
    except TimeoutError:
        return False
    return True


async def _next(pieces: AsyncGenerator[Delta | _Reply, None]) -> Delta | _Reply | None:
    return await anext(pieces, None)
