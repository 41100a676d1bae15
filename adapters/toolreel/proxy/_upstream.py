"""One exchange with an upstream: a request out, text as it arrives in, and last the event of the loop."""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from toolreel._driver.streaming.pulling import apulled
from toolreel._internal.errors import MissingExtra
from toolreel.http._bounded_decoder import BoundedDecoder, Stalled, TooLarge, UndecodableBody
from toolreel.http._connection_limits import async_trace
from toolreel.http._exchange_limits import Exchange
from toolreel.http._httpx_conversion import async_chunks_of, fault_of, hang_up, lost
from toolreel.http._httpx_endpoint import within
from toolreel.http._response_events import answered, broken
from toolreel.proxy._settings import Limits
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

try:
    import httpx
except ImportError:
    raise MissingExtra.of("proxy", "httpx") from None

_UTF8: Final = codecs.getincrementaldecoder("utf-8")
_CONNECT: Final = 10.0
"""Seconds for a connection."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request to an upstream."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Upstream:
    """Sends requests through a transport, which may record or replay them."""

    transport: httpx.AsyncBaseTransport
    limits: Limits

    async def pieces(self, sent: Sent) -> AsyncGenerator[str | ReplyReceived | RequestFailed, None]:
        """The text of a success as it arrives, and last the event for the whole.

        Nothing is read while a piece is in use. Closing the generator closes the connection.

        :raises toolreel.ReplayMismatch: if the transport replays, and has no such request
        """
        exchange = Exchange(self.limits.deadline_seconds, self.limits.response_bytes)
        ended = False
        async with aclosing(apulled(self._pieces(sent, exchange), lambda: within(exchange))) as pieces:
            async for piece in pieces:
                ended = not isinstance(piece, str)
                yield piece
        if not ended:
            yield RequestFailed(0, "timeout", exchange.message)

    async def _pieces(
        self, sent: Sent, exchange: Exchange
    ) -> AsyncGenerator[str | ReplyReceived | RequestFailed, None]:
        try:
            async with (
                aclosing(
                    await self.transport.handle_async_request(self._request(sent, exchange))
                ) as response,
                aclosing(self._read(response)) as pieces,
            ):
                async for piece in pieces:
                    yield piece
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            yield lost(0, error)
        except TooLarge as error:  # raised by a recording transport, which reads the body itself
            yield broken(0, None, error)

    def _request(self, sent: Sent, exchange: Exchange) -> httpx.Request:
        """The request; the transport alone sees it, so no client of httpx is needed."""
        seconds = self.limits.stall_seconds
        timeouts = {"connect": _CONNECT, "read": seconds, "write": seconds, "pool": seconds}
        request = httpx.Request(
            sent.method,
            sent.url,
            headers=dict(sent.headers),
            content=sent.body or None,
            extensions={
                "timeout": {name: exchange.within(timeout) for name, timeout in timeouts.items()},
                "trace": async_trace,
            },
        )
        request.read()
        return request

    async def _read(
        self, response: httpx.Response
    ) -> AsyncGenerator[str | ReplyReceived | RequestFailed, None]:
        if fault := fault_of(response):
            yield RequestFailed(0, "broken", fault)
            return
        chunks = async_chunks_of(response)
        try:
            decoder = BoundedDecoder(response.headers.get("content-encoding", ""), self.limits.response_bytes)
            text = _UTF8("replace")
            async for chunk in chunks:
                piece = text.decode(decoder.feed(chunk))
                if piece and response.is_success:
                    yield piece
            event = answered(0, response.status_code, response.headers, decoder.finish())
        except (Stalled, TooLarge, UndecodableBody) as error:
            await hang_up(response, chunks)
            event = broken(0, response.status_code, error)
        except GeneratorExit:  # the client has left, or the reply is complete
            await hang_up(response, chunks)
            raise
        yield event
