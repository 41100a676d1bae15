"""Records an event stream while the client reads it.

The response is recorded when it is complete: at the end of the body, or at ``[DONE]``, since some servers
keep the connection open. If the connection fails, the part that arrived is recorded with the exception. If
the client stops reading early, nothing is recorded.
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


class Taping:
    """Collects a streamed response; made by :meth:`of`."""

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
        """The taping of a response; ``None`` if it is not an event stream or its encoding is not supported.

        :param limit: maximum size of the body, in bytes, decoded
        :param keep: called with the complete response, decoded
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
        """Decode the next chunk of the body.

        :raises TooLarge: if the body exceeds the limit
        :raises UndecodableBody: if the bytes do not fit the encoding
        """
        piece = self._decoder.feed(raw)
        self._stream, _ = self._stream.feed(self._text.decode(piece))
        if self._stream.done:
            self._record(self._decoder.body)
        return piece

    def finish(self) -> None:
        """Record the response; call it at the end of the body.

        :raises UndecodableBody: if a compressed body is truncated
        """
        if self._open:
            self._record(self._decoder.finish())

    def break_off(self, error: httpx.TransportError) -> None:
        """Record the part that arrived, with the exception that ended it."""
        self._record(self._decoder.body, Break.of(error))

    def give_up(self) -> None:
        """The client stopped reading; nothing is recorded unless the stream was complete."""
        self._open = False

    def _record(self, body: bytes, broke: Break | None = None) -> None:
        if self._open:
            self._open = False
            self._keep(replace(self._response, body=body, broke=broke))


class TapedStream(httpx.SyncByteStream):
    """The body of a response that is being recorded."""

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
        """Close the stream of the connection."""
        self._taping.give_up()
        self._inner.close()


class AsyncTapedStream(httpx.AsyncByteStream):
    """The async version of :class:`TapedStream`."""

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
                # Exhausts the inner generators: trio warns about unfinished async generators.
                [_ async for _ in chunks]
            raise
        self._taping.finish()

    async def aclose(self) -> None:
        """Close the stream of the connection."""
        self._taping.give_up()
        await self._inner.aclose()
