"""httpx transports that record and replay HTTP sessions; nothing is patched.

A recording client gets the response as it came, with all of its headers. A replaying client gets the decoded
body and the headers that a cassette stores. Bodies are read completely before the client sees them, except
for event streams, which are passed on as they arrive; a replay delivers them event by event.

An exchange is recorded when it ends: at the end of the body, or when the client closes it. A stream is
complete from its last event on, such as ``[DONE]``, since some servers keep the connection open. An exchange
that fails with an ``httpx.TransportError`` is recorded with the part of a stream that had arrived, and fails
the same way in a replay; other exceptions are not.

A client may leave before the end. What it read is recorded, and a replay gives that and no more: the stream
ends where the client closed it. If the client was cancelled while it waited, as by a timeout around it, a
replay lets it wait again.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx

from toolreel._driver import await_if_awaitable, immediately
from toolreel._internal import log
from toolreel.cassette._session import Session
from toolreel.cassette._stored_exchange import CANCELLED, CLOSED, Break, StoredResponse, values_by_name
from toolreel.http import (
    CREDENTIALS,
    BodyError,
    BoundedDecoder,
    PlainTransport,
    UndecodableBody,
)
from toolreel_core._errors import ReplayMismatch
from toolreel_core._replies import stream_for_form
from toolreel_core._settings import wire_form_of_url

# An event ends with an empty line; the SSE standard allows LF, CRLF and CR as line ends.
_EVENT_END = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


_LONGEST_WAIT = 600.0
"""Seconds for which a replay lets a client wait that has no read timeout."""


def replay_response(stored: StoredResponse, cassette: Path, request: httpx.Request) -> httpx.Response:
    """The httpx response for a stored one; a stored failure is raised."""
    return immediately(areplay_response(stored, cassette, request, time.sleep))


async def areplay_response(
    stored: StoredResponse,
    cassette: Path,
    request: httpx.Request,
    wait: Callable[[float], object] = anyio.sleep,
) -> httpx.Response:
    """The async version of :func:`replay_response`.

    :param wait: lets the client wait, where the recorded one was cancelled
    """

    async def end() -> None:
        broke = stored.broke
        if broke is None:
            return
        if broke.kind == CLOSED:
            # Not an error: a client that looks at the clock reads on here, though it will stop at the end.
            log("cassette", "warning", "read_past_the_recording", {"path": cassette})
            return
        if broke.kind == CANCELLED:
            # At its read timeout, a silent server would have failed live.
            seconds = request.extensions.get("timeout", {}).get("read")
            await await_if_awaitable(wait(_LONGEST_WAIT if seconds is None else seconds))
            raise ReplayMismatch(
                f"{cassette}: the recorded client was cancelled while it waited here, and this one is not; "
                "if the change is meant, record the session again"
            )
        error: httpx.TransportError = getattr(httpx, broke.kind)(broke.message)
        error.add_note(f"The exchange broke off when it was recorded: this is from {cassette}.")
        raise error

    if not stored.status:
        await end()
    return httpx.Response(
        stored.status,
        headers=[(name.encode(), value.encode()) for name, value in stored.headers],
        stream=_Replayed(stored, end),
        extensions={"reason_phrase": stored.reason.encode("ascii", "ignore")},
    )


class _Replayed(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded body for sync and async clients; it blocks only where the recorded client was cancelled."""

    def __init__(self, stored: StoredResponse, end: Callable[[], Awaitable[None]]) -> None:
        self._stored = stored
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        yield from _body_pieces(self._stored)
        immediately(self._end())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in _body_pieces(self._stored):
            yield piece
        await self._end()


def is_event_stream(stored: StoredResponse) -> bool:
    kind, *_ = values_by_name(stored.headers).get("content-type", [""])
    return kind.lower().startswith("text/event-stream")


def _body_pieces(stored: StoredResponse) -> Iterator[bytes]:
    if is_event_stream(stored):
        return (piece for piece in _EVENT_END.split(stored.body) if piece)
    return iter((stored.body,))


class _TapedStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Collects one exchange while its body passes to a sync or async client; records it when it ends."""

    def __init__(self, session: Session, request: httpx.Request, limit: int) -> None:
        self._session = session
        self._request = request
        self._limit = limit
        self._inner: Any = None
        self._raw = BoundedDecoder("identity", limit)
        self._response = StoredResponse()
        self.is_events = False
        """Whether the body is an event stream."""
        self._waits = True
        """Whether the client waits for the head or for the next chunk."""
        session.under_way[self] = self._record_early_close

    def adopt_response_head(self, response: httpx.Response) -> None:
        headers = tuple(response.headers.multi_items())
        self._inner = response.stream
        self._response = StoredResponse(response.status_code, response.reason_phrase, headers, b"")
        self.is_events = is_event_stream(self._response)
        # Any other body is read before the client has the response, so it still waits.
        self._waits = self._waits and not self.is_events

    @contextmanager
    def recording_failures(self) -> Generator[None]:
        try:
            yield
        except GeneratorExit:
            # The client has left; it closes the response, at the end of the session at the latest.
            raise
        except httpx.TransportError as error:
            self._record(Break.of(error))
            raise
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            self._session.under_way.pop(self, None)
            self._session.unrecorded.append(str(error))
            raise
        except BaseException:  # cancelled, as asyncio and trio do it
            self._record_early_close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        self._waits = True
        with self.recording_failures():
            for raw in self._inner:
                self._waits = False
                self._raw.feed(raw)
                yield raw
                self._waits = True
            self._record(whole=True)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._inner)
        self._waits = True
        try:
            with self.recording_failures():
                async for raw in chunks:
                    self._waits = False
                    self._raw.feed(raw)
                    yield raw
                    self._waits = True
                self._record(whole=True)
        except BodyError:
            await self.aclose()
            with suppress(httpx.HTTPError):
                # Exhausts the inner generators: trio warns about unfinished async generators.
                [_ async for _ in chunks]
            raise

    def close(self) -> None:
        self._record_early_close()
        self._inner.close()

    async def aclose(self) -> None:
        self._record_early_close()
        await self._inner.aclose()

    def _record_early_close(self) -> None:
        self._record(Break(CANCELLED if self._waits else CLOSED, ""))

    def _record(self, broke: Break | None = None, *, whole: bool = False) -> None:
        """Add the exchange to the session, unless it is there or the session is over."""
        if self._session.under_way.pop(self, None) is None:
            return
        request = self._request
        credentials: frozenset[str] = request.extensions.get(CREDENTIALS, frozenset())
        answer = StoredResponse(broke=broke)
        if self.is_events or broke is None:
            answer = self._stored_answer(broke, whole=whole)
        self._session.append(
            request.method, str(request.url), request.headers, request.content, answer, credentials
        )

    def _stored_answer(self, broke: Break | None, *, whole: bool) -> StoredResponse:
        response = replace(self._response, body=self._raw.body)
        # What cannot be decoded is stored as sent, with its content-encoding, so that the client decides.
        with suppress(UndecodableBody):
            response = decoded_response(response, self._limit, whole=whole)
        if broke:
            text = response.body.decode("utf-8", "replace")
            stream, _ = stream_for_form(wire_form_of_url(str(self._request.url))).feed(text)
            broke = None if stream.done else broke
        return replace(response, broke=broke)


def decoded_response(response: StoredResponse, limit: int, *, whole: bool = True) -> StoredResponse:
    """The response with its body as a client sees it, and without the header that says how it was encoded.

    :raises BodyError: if the body is damaged, or larger than ``limit`` bytes
    """
    named = values_by_name(response.headers)
    decoder = BoundedDecoder(", ".join(named.get("content-encoding", ())), limit)
    decoder.feed(response.body)
    body = decoder.finish() if whole else decoder.body
    return replace(response, headers=headers_without_encoding(response), body=body)


def headers_without_encoding(response: StoredResponse) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in response.headers if pair[0] != "content-encoding")


BODY_LIMIT = 64 * 2**20
"""Default maximum size of a recorded response body, in bytes, decoded."""


class CassetteTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers from a recording, and records what it may record beyond that.

    :param inner: sends the requests that are not answered from the recording; by default as a plain client
    :param limit: maximum size of a recorded response body, in bytes, decoded
    """

    def __init__(
        self,
        session: Session,
        inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
        *,
        limit: int = BODY_LIMIT,
    ) -> None:
        self._session = session
        self._inner: Any = inner or PlainTransport()
        self._limit = limit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        # Not time.sleep(): a client that waits in a thread is free when the session ends.
        wait = self._session.over.wait
        return immediately(self._handle(request, self._inner.handle_request, wait, _read_whole))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return await self._handle(request, self._inner.handle_async_request, anyio.sleep, _aread_whole)

    async def _handle(
        self,
        request: httpx.Request,
        send: Callable[[httpx.Request], Any],
        wait: Callable[[float], object],
        read: Callable[[_TapedStream], bytes | Awaitable[bytes]],
    ) -> httpx.Response:
        session = self._session
        stored = session.play(request.method, str(request.url), request.content)
        if stored:
            return await areplay_response(stored, session.path, request, wait)
        taped = _TapedStream(session, request, self._limit)
        with taped.recording_failures():
            response: httpx.Response = await await_if_awaitable(send(request))
            taped.adopt_response_head(response)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=taped if taped.is_events else httpx.ByteStream(await await_if_awaitable(read(taped))),
            extensions=response.extensions,
        )

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        await self._inner.aclose()


def _read_whole(stream: _TapedStream) -> bytes:
    with closing(stream):
        return b"".join(stream)


async def _aread_whole(stream: _TapedStream) -> bytes:
    async with aclosing(stream):
        return b"".join([raw async for raw in stream])
