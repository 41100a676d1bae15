"""Endpoints over pyreqwest: a sync one, and one for asyncio.

pyreqwest blocks in Rust and does not check for signals while it waits. Python handles signals in the main
thread only, so there the exchange runs in another thread, and is aborted on ``KeyboardInterrupt``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from toolreel._driver.streaming.pulling import aevent_of, event_of
from toolreel._internal.errors import EndpointConfigError, MissingExtra
from toolreel.http._bounded_decoder import Stalled, TooLarge, UndecodableBody
from toolreel.http._exchange_limits import Exchange
from toolreel.http._request import AsyncClosing, Closing
from toolreel.http._response_events import broken
from toolreel.http._response_reader import Incoming
from toolreel.http.fast._cancellation import as_cancelled
from toolreel.http.fast._clients import FastClients
from toolreel.http.fast._responses import content_length, fault, headers_of, lost, out_of_time
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._settings.wire_form import WireForm

try:
    from pyreqwest.client import Client, ClientBuilder, SyncClient, SyncClientBuilder
    from pyreqwest.exceptions import PyreqwestError
except ImportError:
    raise MissingExtra.of("fast", "pyreqwest") from None

if TYPE_CHECKING:
    from pyreqwest.response import Response, SyncResponse


_Reply: TypeAlias = ReplyReceived | RequestFailed
_Result = TypeVar("_Result")


@cache
def _sender_thread() -> ThreadPoolExecutor:
    """The thread that runs the exchanges of the main thread."""
    return ThreadPoolExecutor(1, "toolreel-fast")


_PIECE: Final = 1
"""Bytes of a body to read ahead. With 1, the first chunk arrives together with the headers, which saves a
switch of threads, and no chunk of a stream waits for the next."""


class FastEndpoint(FastClients[SyncClient], Closing):
    """An endpoint for any OpenAI-compatible chat completions API, over a client in Rust.

    Its traffic cannot be recorded, and the pytest plugin cannot block it in tests that replay.

    The other parameters are those of :class:`toolreel.http.HttpEndpoint`.

    :param timeout: read timeout, in seconds
    :param connect_timeout: connect timeout, in seconds
    :param http2: whether to offer HTTP/2
    :raises EndpointConfigError: if the URL or a setting is invalid, or the key's variable is not set
    """

    def _build(self, form: WireForm, *, streamed: bool) -> SyncClient:
        return self._configured(SyncClientBuilder(), form, streamed=streamed).build()

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
        client = self._get(effect.request)
        builder = client.post(self._url(effect.request)).body_bytes(effect.request.body.encode())
        builder.timeout(timedelta(seconds=exchange.left))
        request = builder.streamed_read_buffer_limit(_PIECE).build_streamed()
        try:
            with request as response, closing(self._read(effect, exchange, response)) as pieces:
                yield from pieces
        except PyreqwestError as error:
            yield lost(effect.ref, error, exchange)

    def _read(
        self, effect: SendRequest, exchange: Exchange, response: SyncResponse
    ) -> Generator[Delta | _Reply, None, None]:
        if why := fault(response):
            yield RequestFailed(effect.ref, "broken", why)
            return
        reader = response.body_reader
        try:
            incoming = Incoming(self._intake, exchange, effect, response.status, headers_of(response))
            # Waiting for the end of a body that is complete would cost another switch of threads.
            remaining = content_length(response)
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


class AsyncFastEndpoint(FastClients[Client], AsyncClosing):
    """An endpoint for any OpenAI-compatible chat completions API, over a client in Rust (asyncio only).

    Its parameters are those of :class:`FastEndpoint`. A cancelled request makes room for another at once. If
    the server has not begun to answer, the connection stays open until it does, or until a timeout.
    """

    def _build(self, form: WireForm, *, streamed: bool) -> Client:
        # pyreqwest goes on with a cancelled request, which would keep its place; so the places are ours.
        return self._configured(ClientBuilder(), form, streamed=streamed).max_connections(None).build()

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        exchange = self._intake.begin()
        places = self._own_places()
        if not await _entered(places, exchange):
            return out_of_time(effect.ref, exchange)
        try:
            return await as_cancelled(aevent_of(self._pieces(effect, exchange)))
        finally:
            places.release()

    async def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | _Reply, None]:
        """Each piece of the reply as it arrives, and last the event that :meth:`send` returns.

        Nothing is read while you use a piece. Closing the generator closes the response.
        """
        exchange = self._intake.begin()
        places = self._own_places()
        if not await _entered(places, exchange):
            yield out_of_time(effect.ref, exchange)
            return
        pieces = self._pieces(effect, exchange)
        try:
            while (piece := await as_cancelled(_next(pieces))) is not None:
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
        client = self._get(effect.request)
        builder = client.post(self._url(effect.request)).body_bytes(effect.request.body.encode())
        builder.timeout(timedelta(seconds=exchange.left))
        request = builder.streamed_read_buffer_limit(_PIECE).build_streamed()
        try:
            async with request as response, aclosing(self._read(effect, exchange, response)) as pieces:
                async for piece in pieces:
                    yield piece
        except PyreqwestError as error:
            yield lost(effect.ref, error, exchange)

    async def _read(
        self, effect: SendRequest, exchange: Exchange, response: Response
    ) -> AsyncGenerator[Delta | _Reply, None]:
        if why := fault(response):
            yield RequestFailed(effect.ref, "broken", why)
            return
        reader = response.body_reader
        try:
            incoming = Incoming(self._intake, exchange, effect, response.status, headers_of(response))
            # Waiting for the end of a body that is complete would cost another switch of threads.
            remaining = content_length(response)
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
