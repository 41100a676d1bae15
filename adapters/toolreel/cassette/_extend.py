"""Transports for mode ``extend``: replay a recording, then record what follows over the network."""

from __future__ import annotations

from toolreel._errors import MissingExtra
from toolreel.cassette._responses import replayed
from toolreel.cassette._tape import Recording
from toolreel.cassette._transports import BODY_LIMIT, AsyncRecordTransport, RecordTransport

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error


class ExtendTransport(httpx.BaseTransport):
    """An httpx transport that replays a recording to its end, then sends requests and records the responses.

    :param recording: the cassette in use, such as ``Session.of(path, "extend").recording``
    :param inner: sends the requests that follow, for example ``httpx.HTTPTransport()``
    :param limit: maximum size of a response body, in bytes, decoded
    """

    def __init__(self, recording: Recording, inner: httpx.BaseTransport, *, limit: int = BODY_LIMIT) -> None:
        self._recording = recording
        self._live = RecordTransport(recording, inner, limit=limit)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response, or a new one if all interactions have been played.

        :raises toolreel.ReplayMismatch: if interactions are left, and none of them is for this request
        """
        stored = self._recording.play_on(request.method, str(request.url), request.read())
        return replayed(stored, self._recording.path) if stored else self._live.handle_request(request)

    def close(self) -> None:
        """Close the inner transport."""
        self._live.close()


class AsyncExtendTransport(httpx.AsyncBaseTransport):
    """The async version of :class:`ExtendTransport`."""

    def __init__(
        self, recording: Recording, inner: httpx.AsyncBaseTransport, *, limit: int = BODY_LIMIT
    ) -> None:
        self._recording = recording
        self._live = AsyncRecordTransport(recording, inner, limit=limit)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response, or a new one if all interactions have been played.

        :raises toolreel.ReplayMismatch: if interactions are left, and none of them is for this request
        """
        stored = self._recording.play_on(request.method, str(request.url), await request.aread())
        if stored:
            return replayed(stored, self._recording.path)
        return await self._live.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._live.aclose()
