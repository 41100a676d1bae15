"""One exchange with an upstream: a request out, text as it arrives in, and last the event of the loop."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import httpx

from toolreel._secrets import RunningBodyScrub, scrubbed, secrets_sent, secrets_to_scrub
from toolreel.http import (
    BoundedDecoder,
    Exchange,
    Stalled,
    TooLarge,
    UndecodableBody,
    async_chunks_of,
    async_trace,
    failure_event,
    hang_up,
    within,
)
from toolreel.proxy._headers import KEYS
from toolreel.proxy._settings import Limits
from toolreel_core._protocol import ReplyReceived, RequestFailed, response_event

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


class Pieces:
    """The reply to one request, which is sent when the first piece is wanted. A key in it is masked.

    Nothing is read while a piece is in use. Closing it closes the connection. It is no generator: with one in
    another, each with its scope, a piece took twice the time.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, limits: Limits, sent: Sent) -> None:
        self._transport: Final = transport
        self._limits: Final = limits
        self._sent: Final = sent
        self._exchange: Final = Exchange(limits.deadline_seconds, limits.response_bytes)
        self._text: Final = _UTF8("replace")
        self._secrets: Final = secrets_to_scrub(secrets_sent(sent.url, sent.headers, KEYS))
        self._scrub: Final = RunningBodyScrub(self._secrets)
        self._passed: Final[list[str]] = []
        self._incoming: tuple[httpx.Response, AsyncIterator[bytes]] | None = None
        self._decoder: BoundedDecoder | None = None
        self._over = False
        self.headers: Sequence[tuple[str, str]] = ()
        """Those of the response, once it has begun: names in lower case, without a key that was sent."""

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> str | ReplyReceived | RequestFailed:
        """The next piece.

        :raises toolreel.ReplayMismatch: if the transport replays, and has no such request
        """
        if self._over:
            raise StopAsyncIteration
        found = list[str | ReplyReceived | RequestFailed]()
        with within(self._exchange):  # ends what happens inside when the time is over
            found.append(await self._next_piece_or_event())
        return found[0] if found else await self._ended(RequestFailed(0, "timeout", self._exchange.message))

    async def aclose(self) -> None:
        """Close the connection, unless the reply was complete."""
        self._over = True
        incoming, self._incoming = self._incoming, None
        if incoming is not None:
            with within(self._exchange):
                await hang_up(*incoming)

    async def _next_piece_or_event(self) -> str | ReplyReceived | RequestFailed:
        try:
            response, chunks = self._incoming or await self._begun()
            encoding = response.headers.get("content-encoding", "")
            self._decoder = self._decoder or BoundedDecoder(encoding, self._limits.response_bytes)
            async for chunk in chunks:
                piece = self._take(self._scrub.feed(self._text.decode(self._decoder.feed(chunk))))
                if piece and response.is_success:
                    return piece
            self._decoder.finish()
            piece = self._take(self._scrub.feed(self._text.decode(b"", final=True)) + self._scrub.close())
            if piece and response.is_success:
                return piece
            return await self._ended(
                response_event(0, response.status_code, response.headers, "".join(self._passed))
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            event = failure_event(0, error)
            return await self._ended(replace(event, message=scrubbed(event.message, self._secrets)))
        except (Stalled, TooLarge, UndecodableBody) as error:
            status = self._incoming[0].status_code if self._incoming else None
            return await self._ended(error.event(0, status))

    def _take(self, piece: str) -> str:
        self._passed.append(piece)
        return piece

    async def _begun(self) -> tuple[httpx.Response, AsyncIterator[bytes]]:
        response = await self._transport.handle_async_request(self._request())
        self._incoming = response, async_chunks_of(response)
        self.headers = [
            (name, scrubbed(value, self._secrets)) for name, value in response.headers.multi_items()
        ]
        return self._incoming

    async def _ended(self, event: ReplyReceived | RequestFailed) -> ReplyReceived | RequestFailed:
        await self.aclose()
        return event

    def _request(self) -> httpx.Request:
        """The request; the transport alone sees it, so no client of httpx is needed."""
        seconds, sent = self._limits.stall_seconds, self._sent
        timeouts = {"connect": _CONNECT, "read": seconds, "write": seconds, "pool": seconds}
        request = httpx.Request(
            sent.method,
            sent.url,
            headers=dict(sent.headers),
            content=sent.body or None,
            extensions={
                "timeout": {name: self._exchange.cap_timeout(timeout) for name, timeout in timeouts.items()},
                "trace": partial(async_trace, self._exchange),
            },
        )
        request.read()
        return request
