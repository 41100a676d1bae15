"""Recording a streamed response while it is on its way to the client, who sees each piece as it comes.

It is recorded once it is whole: at its end, or at its last word where the server keeps the connection
open. One that breaks off is recorded as far as it came, with what it broke off with; one that the client
gives up is not recorded.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from toolreel._errors import MissingExtra
from toolreel.cassette._failures import Break
from toolreel.cassette._tape import StoredResponse
from toolreel.http._bounded_body import BodyError, BoundedDecoder, UndecodableBody
from toolreel_core._replies.streaming.stream import Stream

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

__all__ = ["AsyncTapedStream", "TapedStream", "Taping"]


class Taping:
    """What is known of a response that is being passed on; made by :meth:`of`."""

    def __init__(
        self, response: StoredResponse, decoder: BoundedDecoder, keep: Callable[[StoredResponse], object]
    ) -> None:
        self._response = response
        self._decoder = decoder
        self._keep = keep
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._stream = Stream()
        self._open = True

    @classmethod
    def of(
        cls, response: httpx.Response, limit: int, keep: Callable[[StoredResponse], object]
    ) -> Taping | None:
        """The taping of a response, or ``None`` if it is no stream that can be decoded piece by piece.

        :param limit: the largest body that is recorded, in bytes, decoded
        :param keep: is given the whole response, decoded
        """
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            return None
        try:
            decoder = BoundedDecoder(response.headers.get("content-encoding", ""), limit)
        except UndecodableBody:
            return None
        headers = [pair for pair in response.headers.multi_items() if pair[0].lower() != "content-encoding"]
        stored = StoredResponse(response.status_code, response.reason_phrase, tuple(headers), b"")
        return cls(stored, decoder, keep)

    @property
    def response(self) -> StoredResponse:
        """The response without its body."""
        return self._response

    def take(self, raw: bytes) -> bytes:
        """The next piece of the body, decoded.

        :raises TooLarge: when the body is above the limit
        :raises UndecodableBody: when it does not fit its encoding
        """
        piece = self._decoder.feed(raw)
        self._stream, _ = self._stream.feed(self._text.decode(piece))
        if self._stream.done:
            self._record(self._decoder.body)
        return piece

    def finish(self) -> None:
        """The body has come to its end.

        :raises UndecodableBody: when a compressed body was cut off
        """
        if self._open:
            self._record(self._decoder.finish())

    def break_off(self, error: httpx.TransportError) -> None:
        """The connection broke before the body was whole."""
        self._record(self._decoder.body, Break.of(error))

    def give_up(self) -> None:
        """The client has seen enough; unless the stream had said that it is over, nothing is recorded."""
        self._open = False

    def _record(self, body: bytes, broke: Break | None = None) -> None:
        if self._open:
            self._open = False
            self._keep(replace(self._response, body=body, broke=broke))


class TapedStream(httpx.SyncByteStream):
    """The body of a response on its way through a recording."""

    def __init__(self, inner: httpx.SyncByteStream, taping: Taping) -> None:
        self._inner = inner
        self._taping = taping

    def __iter__(self) -> Iterator[bytes]:
        try:
            for raw in self._inner:
                yield self._taping.take(raw)
        except httpx.TransportError as error:
            self._taping.break_off(error)
            raise
        self._taping.finish()

    def close(self) -> None:
        """Close the connection's own stream."""
        self._taping.give_up()
        self._inner.close()


class AsyncTapedStream(httpx.AsyncByteStream):
    """The same as :class:`TapedStream`, awaited."""

    def __init__(self, inner: httpx.AsyncByteStream, taping: Taping) -> None:
        self._inner = inner
        self._taping = taping

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._inner)
        try:
            async for raw in chunks:
                yield self._taping.take(raw)
        except httpx.TransportError as error:
            self._taping.break_off(error)
            raise
        except BodyError:
            await self.aclose()
            with suppress(httpx.HTTPError):
                # Ends the generators under this one, which trio warns of when they are dropped half-way.
                [_ async for _ in chunks]
            raise
        self._taping.finish()

    async def aclose(self) -> None:
        """Close the connection's own stream."""
        self._taping.give_up()
        await self._inner.aclose()
