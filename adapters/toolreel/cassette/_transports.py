"""Recording and replaying HTTP sessions by httpx transports of our own; nothing is patched.

>>> import httpx
>>> def session(path):  # doctest: +SKIP
...     with recording(path) as tape:  # once, with the network
...         client = httpx.Client(transport=RecordTransport(tape, httpx.HTTPTransport()))
...     with replaying(path) as tape:  # ever after, without
...         client = httpx.Client(transport=ReplayTransport(tape))

A recording client gets exactly the response that a replaying client will get: the body decoded,
and only the headers that a cassette holds. Bodies are read whole before the client sees them, but
for event streams, which it sees as they come (:mod:`toolreel.cassette._stream`). An exchange that
breaks off, with any ``httpx.TransportError``, is recorded too, and raises the same at replay; every other
exception passes through and leaves nothing behind.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, cast

from toolreel._errors import CassetteError, MissingExtra
from toolreel.cassette._failures import Break
from toolreel.cassette._responses import replayed, response_of
from toolreel.cassette._stream import AsyncTapedStream, TapedStream, Taping
from toolreel.cassette._tape import Recording, StoredResponse, scrubbed
from toolreel.http._bounded_body import BoundedDecoder, TooLarge, UndecodableBody

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

__all__ = [
    "BODY_LIMIT",
    "AsyncRecordTransport",
    "AsyncReplayTransport",
    "RecordTransport",
    "Recording",
    "ReplayTransport",
    "StoredResponse",
    "recording",
    "replaying",
]

BODY_LIMIT: Final = 64 * 2**20
"""The largest response body that is recorded unless told otherwise, in bytes, decoded."""


@contextmanager
def replaying(path: str | os.PathLike[str]) -> Generator[Recording]:
    """The recording in a file; leaving the block checks that all of it has been played.

    An exception from the block passes through as it is.

    :raises CassetteError: when the cassette cannot be read or trusted
    :raises ReplayMismatch: on leaving, as :meth:`Recording.finish` does
    """
    tape = Recording.load(path)
    yield tape
    tape.finish()


@contextmanager
def recording(
    path: str | os.PathLike[str], *, overwrite: bool = False, known_secrets: Mapping[str, str] | None = None
) -> Generator[Recording]:
    """A new recording; leaving the block in whatever way saves it, if anything has happened.

    When the block raised and saving fails too, the block's exception goes on with a note on why
    nothing was saved.

    :param known_secrets: as for :meth:`Recording.save`
    :raises CassetteError: when the file exists and ``overwrite`` is not set, or cannot be written
    :raises SecretFound: when the file would hold a secret
    """
    if os.path.lexists(path) and not overwrite:
        raise CassetteError(f"{os.fspath(path)}: exists already: delete it, or record with overwrite=True")
    tape = Recording.blank(path)
    try:
        yield tape
    except BaseException as failure:
        try:
            _save(tape, known_secrets)
        except CassetteError as refusal:
            failure.add_note(f"The recording was not saved. {refusal}")
        raise
    _save(tape, known_secrets)


class ReplayTransport(httpx.BaseTransport):
    """Answers from a recording; there is no network behind it."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response, or :class:`~toolreel_core.ReplayMismatch`."""
        body = request.read()
        tape = self._recording
        return replayed(tape.play(request.method, str(request.url), body), tape.path)


class AsyncReplayTransport(httpx.AsyncBaseTransport):
    """Answers from a recording; there is no network behind it, so it never waits."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response, or :class:`~toolreel_core.ReplayMismatch`."""
        body = await request.aread()
        tape = self._recording
        return replayed(tape.play(request.method, str(request.url), body), tape.path)


class RecordTransport(httpx.BaseTransport):
    """Passes requests on to another transport, and records what comes back.

    :param limit: the largest response body, in bytes, decoded
    """

    def __init__(self, recording: Recording, inner: httpx.BaseTransport, *, limit: int = BODY_LIMIT) -> None:
        self._recording = recording
        self._inner = inner
        self._limit = limit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response as a replay will give it, once it has been read whole and recorded.

        :raises TooLarge: when its body is above the limit
        """
        request.read()
        with _breaks_kept(self._recording, request):
            return self._exchange(request)

    def _exchange(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        taping = _taping(self._recording, request, response, self._limit)
        if taping:
            stream = cast("httpx.SyncByteStream", response.stream)
            return _passed_on(taping, TapedStream(stream, taping))
        raw = BoundedDecoder("identity", self._limit)
        try:
            for chunk in cast("httpx.SyncByteStream", response.stream):
                raw.feed(chunk)
        finally:
            response.close()
        return _recorded(self._recording, request, response, raw.finish(), self._limit)

    def close(self) -> None:
        """Close the transport behind this one."""
        self._inner.close()


class AsyncRecordTransport(httpx.AsyncBaseTransport):
    """Passes requests on to another transport, and records what comes back.

    :param limit: the largest response body, in bytes, decoded
    """

    def __init__(
        self, recording: Recording, inner: httpx.AsyncBaseTransport, *, limit: int = BODY_LIMIT
    ) -> None:
        self._recording = recording
        self._inner = inner
        self._limit = limit

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response as a replay will give it, once it has been read whole and recorded.

        :raises TooLarge: when its body is above the limit
        """
        await request.aread()
        with _breaks_kept(self._recording, request):
            return await self._exchange(request)

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        taping = _taping(self._recording, request, response, self._limit)
        if taping:
            stream = cast("httpx.AsyncByteStream", response.stream)
            return _passed_on(taping, AsyncTapedStream(stream, taping))
        raw = BoundedDecoder("identity", self._limit)
        chunks = aiter(cast("httpx.AsyncByteStream", response.stream))
        try:
            async for chunk in chunks:
                raw.feed(chunk)
        except TooLarge:
            await response.aclose()
            with suppress(httpx.HTTPError):
                # Ends the generators under this one, which trio warns of when they are dropped half-way.
                [_ async for _ in chunks]
            raise
        finally:
            await response.aclose()
        return _recorded(self._recording, request, response, raw.finish(), self._limit)

    async def aclose(self) -> None:
        """Close the transport behind this one."""
        await self._inner.aclose()


@contextmanager
def _breaks_kept(tape: Recording, request: httpx.Request) -> Generator[None]:
    """An exchange that breaks off before the client has a response is recorded, and raised all the same."""
    try:
        yield
    except httpx.TransportError as error:
        url = str(request.url)
        tape.append_break(request.method, url, request.headers, request.content, Break.of(error))
        raise


def _taping(tape: Recording, request: httpx.Request, response: httpx.Response, limit: int) -> Taping | None:
    def keep(stored: StoredResponse) -> None:
        tape.append(request.method, str(request.url), request.headers, request.content, stored)

    return Taping.of(response, limit, keep)


def _passed_on(taping: Taping, stream: TapedStream | AsyncTapedStream) -> httpx.Response:
    return response_of(scrubbed(taping.response), stream)


def _recorded(
    tape: Recording, request: httpx.Request, response: httpx.Response, raw: bytes, limit: int
) -> httpx.Response:
    headers = response.headers.multi_items()
    try:
        decoder = BoundedDecoder(response.headers.get("content-encoding", ""), limit)
        decoder.feed(raw)
        body = decoder.finish()
    except UndecodableBody:
        body = raw
    else:
        headers = [(name, value) for name, value in headers if name.lower() != "content-encoding"]
    stored = StoredResponse(response.status_code, response.reason_phrase, tuple(headers), body)
    return response_of(
        tape.append(request.method, str(request.url), request.headers, request.content, stored)
    )


def _save(tape: Recording, known_secrets: Mapping[str, str] | None) -> None:
    if tape.total:
        tape.save(known_secrets)
