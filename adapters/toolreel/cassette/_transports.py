"""httpx transports that record and replay HTTP sessions; nothing is patched.

>>> import httpx
>>> def session(path):  # doctest: +SKIP
...     with recording(path) as tape:  # once, with the network
...         client = httpx.Client(transport=RecordTransport(tape, httpx.HTTPTransport()))
...     with replaying(path) as tape:  # ever after, without
...         client = httpx.Client(transport=ReplayTransport(tape))

A recording client gets exactly the response that a replaying client will get: the decoded body, and only the
headers that a cassette stores. Bodies are read completely before the client sees them, except for event
streams, which are passed on as they arrive (:mod:`toolreel.cassette._response_body_streams`). An exchange
that fails with an ``httpx.TransportError`` is recorded too, and fails the same way in a replay; other
exceptions are not.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final, cast

from toolreel._internal.errors import CassetteError, MissingExtra
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._recorded_failures import Break
from toolreel.cassette._response_body_streams import (
    AsyncTapedStream,
    TapedStream,
    Taping,
    replayed,
    response_of,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

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
