"""httpx transports that record and replay HTTP sessions; nothing is patched.

>>> import httpx
>>> def session(path):  # doctest: +SKIP
...     with recording(path) as tape:  # once, with the network
...         client = httpx.Client(transport=RecordTransport(tape, httpx.HTTPTransport()))
...     with replaying(path) as tape:  # ever after, without
...         client = httpx.Client(transport=ReplayTransport(tape))

A recording client gets exactly the response that a replaying client will get: the decoded body, and only the
headers that a cassette stores. Bodies are read completely before the client sees them, except for event
streams, which are passed on as they arrive; a replay delivers them event by event.

A response is recorded when it is complete: at the end of the body, or at ``[DONE]``, since some servers keep
the connection open. If the client stops reading a stream early, nothing is recorded. An exchange that fails
with an ``httpx.TransportError`` is recorded too, with the part of a stream that had arrived, and fails the
same way in a replay; other exceptions are not.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final, cast

from toolreel._internal import CassetteError, MissingExtra
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._stored_exchange import Break, StoredResponse, scrubbed
from toolreel.http import PACKAGES, BodyError, BoundedDecoder, UndecodableBody
from toolreel_core._replies import stream_in
from toolreel_core._settings import form_of

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error


# An event ends with an empty line; the SSE standard allows LF, CRLF and CR as line ends.
_EVENT_END: Final = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


def replayed(stored: StoredResponse | Break, cassette: Path) -> httpx.Response:
    """The httpx response for a stored one; a stored failure is raised.

    :raises httpx.TransportError: the recorded exception, if there was no response
    :raises CassetteError: if httpx cannot decode the body, since a package is missing
    """
    if isinstance(stored, Break):
        raise broken_off(stored, cassette)
    refuse_unreadable(stored, cassette)
    return response_of(stored, _Replayed(stored, cassette))


def response_of(
    stored: StoredResponse, stream: httpx.SyncByteStream | httpx.AsyncByteStream | None = None
) -> httpx.Response:
    """An httpx response with the headers of a stored one, and its body unless a stream is given."""
    return httpx.Response(
        stored.status,
        headers=[(name.encode(), value.encode()) for name, value in stored.headers],
        stream=stream or httpx.ByteStream(stored.body),
        extensions={"reason_phrase": stored.reason.encode("ascii", "ignore")},
    )


def broken_off(broke: Break, cassette: Path) -> httpx.TransportError:
    """The exception that ended an exchange, with its class, its text and a note about the cassette."""
    error: httpx.TransportError = getattr(httpx, broke.kind)(broke.message)
    error.add_note(f"The exchange broke off when it was recorded: this is from {cassette}.")
    return error


class _Replayed(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded body for sync and async clients; it never blocks."""

    def __init__(self, stored: StoredResponse, cassette: Path) -> None:
        self._stored = stored
        self._cassette = cassette

    def __iter__(self) -> Iterator[bytes]:
        yield from pieces_of(self._stored)
        if self._stored.broke:
            raise broken_off(self._stored.broke, self._cassette)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def is_stream(stored: StoredResponse) -> bool:
    """Whether a response is an event stream, by its content type."""
    kinds = [value for name, value in stored.headers if name == "content-type"]
    return bool(kinds) and kinds[0].lower().startswith("text/event-stream")


def pieces_of(stored: StoredResponse) -> Iterator[bytes]:
    """The body in pieces: an event stream event by event, any other body as one."""
    if is_stream(stored):
        return (piece for piece in _EVENT_END.split(stored.body) if piece)
    return iter((stored.body,))


def refuse_unreadable(stored: StoredResponse, cassette: Path) -> None:
    """Check that the package for the content encoding of a body is installed.

    :raises CassetteError: names the missing package
    """
    encodings = [value for name, value in stored.headers if name == "content-encoding"]
    for encoding in ",".join(encodings).lower().split(","):
        packages = PACKAGES.get(encoding.strip(), ())
        if packages and not any(find_spec(package) for package in packages):
            raise CassetteError(
                f"{cassette}: a response was recorded in the encoding {encoding.strip()!r}, which httpx "
                f"decodes only with the package {packages[0]}: pip install {packages[0]}"
            )


class Taping:
    """Collects one response and records it when it is complete."""

    def __init__(
        self, recording: Recording, request: httpx.Request, response: httpx.Response, limit: int
    ) -> None:
        self._recording = recording
        self._request = request
        self._limit = limit
        self._encoding = response.headers.get("content-encoding", "")
        headers = tuple(response.headers.multi_items())
        self.response = StoredResponse(response.status_code, response.reason_phrase, headers, b"")
        """What a replaying client will get; without the body until it is complete."""
        self.streamed = is_stream(self.response)
        """Whether the body is an event stream that can be decoded chunk by chunk."""
        # The raw bytes of other bodies are limited too; `finish` decompresses them afterwards.
        try:
            self._decoder = BoundedDecoder(self._encoding if self.streamed else "identity", limit)
        except UndecodableBody:
            self.streamed, self._decoder = False, BoundedDecoder("identity", limit)
        if self.streamed:
            self.response = scrubbed(_without_encoding(self.response))
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._stream = stream_in(form_of(str(request.url)))
        self._open = True

    def take(self, raw: bytes) -> bytes:
        """Take the next chunk of the body; returns it decoded if the body is an event stream.

        :raises TooLarge: if the body exceeds the limit
        :raises UndecodableBody: if the bytes do not fit the encoding
        """
        piece = self._decoder.feed(raw)
        if self.streamed:
            self._stream, _ = self._stream.feed(self._text.decode(piece))
            if self._stream.done:
                self._record(replace(self.response, body=self._decoder.body))
        return piece

    def finish(self) -> None:
        """Record the response; call it at the end of the body.

        :raises TooLarge: if the decoded body exceeds the limit
        :raises UndecodableBody: if a compressed event stream is truncated
        """
        if not self._open:
            return
        response = replace(self.response, body=self._decoder.finish())
        if not self.streamed:
            # What cannot be decoded is stored as sent, with its content-encoding, so that the client decides.
            with suppress(UndecodableBody):
                decoder = BoundedDecoder(self._encoding, self._limit)
                decoder.feed(response.body)
                response = _without_encoding(replace(response, body=decoder.finish()))
        self._record(response)

    def break_off(self, error: httpx.TransportError) -> None:
        """Record the part of an event stream that arrived, with the exception that ended it."""
        if self.streamed:
            self._record(replace(self.response, body=self._decoder.body, broke=Break.of(error)))

    def give_up(self) -> None:
        """The client stopped reading; nothing is recorded unless the stream was complete."""
        self._open = False

    def _record(self, response: StoredResponse) -> None:
        if self._open:
            self._open = False
            request = self._request
            self.response = self._recording.append(
                request.method, str(request.url), request.headers, request.content, response
            )


def _without_encoding(response: StoredResponse) -> StoredResponse:
    headers = (pair for pair in response.headers if pair[0].lower() != "content-encoding")
    return replace(response, headers=tuple(headers))


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


BODY_LIMIT: Final = 64 * 2**20
"""Default maximum size of a recorded response body, in bytes, decoded."""


@contextmanager
def replaying(path: str | os.PathLike[str]) -> Generator[Recording]:
    """Replay a cassette in a ``with`` block; its end checks that every interaction was requested.

    The check is skipped if the block raises.

    :param path: the cassette, a YAML file
    :raises CassetteError: if the file is missing, unreadable or invalid
    :raises ReplayMismatch: at the end of the block, if an interaction was not requested, or a request was not
        in the recording
    """
    tape = Recording.load(path)
    yield tape
    tape.finish()


@contextmanager
def recording(
    path: str | os.PathLike[str], *, overwrite: bool = False, known_secrets: Mapping[str, str] | None = None
) -> Generator[Recording]:
    """Record a new cassette in a ``with`` block; it is saved at the end, even if the block raises.

    If the block raises and saving fails too, the block's exception gets a note that says why.

    :param path: the cassette to write, a YAML file; nothing is written if there was no request
    :param overwrite: whether to replace an existing file
    :param known_secrets: secret values by name, which must not be written; by default, those in the
        environment variables of this process
    :raises CassetteError: if the file exists and ``overwrite`` is not set, or it cannot be written
    :raises SecretFound: if the recording contains a secret; nothing is written
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
    """An httpx transport that answers from a recording, without a network.

    :param recording: from :func:`replaying`
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response.

        :raises toolreel.ReplayMismatch: if the request is not in the recording; shows the nearest one
        """
        body = request.read()
        tape = self._recording
        return replayed(tape.play(request.method, str(request.url), body), tape.path)


class AsyncReplayTransport(httpx.AsyncBaseTransport):
    """The async version of :class:`ReplayTransport`."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response.

        :raises toolreel.ReplayMismatch: if the request is not in the recording; shows the nearest one
        """
        body = await request.aread()
        tape = self._recording
        return replayed(tape.play(request.method, str(request.url), body), tape.path)


class RecordTransport(httpx.BaseTransport):
    """An httpx transport that sends requests through another one, and records the responses.

    :param recording: from :func:`recording`
    :param inner: sends the requests, for example ``httpx.HTTPTransport()``
    :param limit: maximum size of a response body, in bytes, decoded
    """

    def __init__(self, recording: Recording, inner: httpx.BaseTransport, *, limit: int = BODY_LIMIT) -> None:
        self._recording = recording
        self._inner = inner
        self._limit = limit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; the response is the same as a replay will give.

        :raises TooLarge: if the body of the response exceeds the limit
        """
        request.read()
        with _breaks_kept(self._recording, request):
            return self._exchange(request)

    def _exchange(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        taping = Taping(self._recording, request, response, self._limit)
        stream = TapedStream(cast("httpx.SyncByteStream", response.stream), taping)
        if taping.streamed:
            return response_of(taping.response, stream)
        try:
            for _ in stream:
                pass  # the end of the body records it
        finally:
            stream.close()
        return response_of(taping.response)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncRecordTransport(httpx.AsyncBaseTransport):
    """The async version of :class:`RecordTransport`."""

    def __init__(
        self, recording: Recording, inner: httpx.AsyncBaseTransport, *, limit: int = BODY_LIMIT
    ) -> None:
        self._recording = recording
        self._inner = inner
        self._limit = limit

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; the response is the same as a replay will give.

        :raises TooLarge: if the body of the response exceeds the limit
        """
        await request.aread()
        with _breaks_kept(self._recording, request):
            return await self._exchange(request)

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        taping = Taping(self._recording, request, response, self._limit)
        stream = AsyncTapedStream(cast("httpx.AsyncByteStream", response.stream), taping)
        if taping.streamed:
            return response_of(taping.response, stream)
        try:
            async for _ in stream:
                pass  # the end of the body records it
        finally:
            await stream.aclose()
        return response_of(taping.response)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


@contextmanager
def _breaks_kept(tape: Recording, request: httpx.Request) -> Generator[None]:
    """Record an exchange that fails before the client has a response; the exception is raised as well."""
    try:
        yield
    except httpx.TransportError as error:
        url = str(request.url)
        tape.append_break(request.method, url, request.headers, request.content, Break.of(error))
        raise


def _save(tape: Recording, known_secrets: Mapping[str, str] | None) -> None:
    if tape.total:
        tape.save(known_secrets)


class ExtendTransport(RecordTransport):
    """An httpx transport that replays a recording to its end, then sends requests and records the responses.

    :param recording: the cassette in use, such as ``Session.of(path, "extend").recording``
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response, or a new one if all interactions have been played.

        :raises toolreel.ReplayMismatch: if interactions are left, and none of them is for this request
        """
        stored = self._recording.play_on(request.method, str(request.url), request.read())
        return replayed(stored, self._recording.path) if stored else super().handle_request(request)


class AsyncExtendTransport(AsyncRecordTransport):
    """The async version of :class:`ExtendTransport`."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response, or a new one if all interactions have been played.

        :raises toolreel.ReplayMismatch: if interactions are left, and none of them is for this request
        """
        stored = self._recording.play_on(request.method, str(request.url), await request.aread())
        if stored:
            return replayed(stored, self._recording.path)
        return await super().handle_async_request(request)
