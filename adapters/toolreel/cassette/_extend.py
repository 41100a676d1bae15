"""Going on with a recording: the tape is replayed, and the network answers once it is played out."""

from __future__ import annotations

from toolreel._errors import MissingExtra
from toolreel.cassette._responses import replayed
from toolreel.cassette._transports import BODY_LIMIT, AsyncRecordTransport, Recording, RecordTransport

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

__all__ = ["AsyncExtendTransport", "ExtendTransport"]


class ExtendTransport(httpx.BaseTransport):
    """Answers from a recording until all of it has been played, then records what another transport answers.

    :param recording: from :meth:`Recording.extended`
    :param limit: the largest response body, in bytes, decoded
    """

    def __init__(self, recording: Recording, inner: httpx.BaseTransport, *, limit: int = BODY_LIMIT) -> None:
        self._recording = recording
        self._live = RecordTransport(recording, inner, limit=limit)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response or, where nothing is left to be played, a new one.

        :raises toolreel.ReplayMismatch: if something is left, and is not this request
        """
        stored = self._recording.play_on(request.method, str(request.url), request.read())
        return replayed(stored, self._recording.path) if stored else self._live.handle_request(request)

    def close(self) -> None:
        """Close the transport behind this one."""
        self._live.close()


class AsyncExtendTransport(httpx.AsyncBaseTransport):
    """The same as :class:`ExtendTransport`, awaited."""

    def __init__(
        self, recording: Recording, inner: httpx.AsyncBaseTransport, *, limit: int = BODY_LIMIT
    ) -> None:
        self._recording = recording
        self._live = AsyncRecordTransport(recording, inner, limit=limit)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The stored response or, where nothing is left to be played, a new one.

        :raises toolreel.ReplayMismatch: if something is left, and is not this request
        """
        stored = self._recording.play_on(request.method, str(request.url), await request.aread())
        if stored:
            return replayed(stored, self._recording.path)
        return await self._live.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the transport behind this one."""
        await self._live.aclose()
