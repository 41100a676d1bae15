"""What a cassette holds of an exchange, as a client of httpx gets it: a response, or an exception.

A stream of events comes event by event, as it did when it was recorded; where the connection broke in the
middle of it, the exception comes after the last of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from toolreel._errors import MissingExtra
from toolreel.cassette._chunks import pieces_of, refuse_unreadable
from toolreel.cassette._failures import Break
from toolreel.cassette._tape import StoredResponse

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

__all__ = ["broken_off", "replayed", "response_of"]


def replayed(stored: StoredResponse | Break, cassette: Path) -> httpx.Response:
    """The recorded response, or the exception that the recording client got.

    :param cassette: where it stands, for messages
    :raises httpx.TransportError: the recorded one, with its text, where there was no response
    :raises CassetteError: where the body is in an encoding that httpx could not decode here
    """
    if isinstance(stored, Break):
        raise broken_off(stored, cassette)
    refuse_unreadable(stored, cassette)
    return response_of(stored, _Replayed(stored, cassette))


def response_of(
    stored: StoredResponse, stream: httpx.SyncByteStream | httpx.AsyncByteStream | None = None
) -> httpx.Response:
    """A response of httpx with the headers of a stored one, and its body unless another is given."""
    return httpx.Response(
        stored.status,
        headers=[(name.encode(), value.encode()) for name, value in stored.headers],
        stream=stream or httpx.ByteStream(stored.body),
        extensions={"reason_phrase": stored.reason.encode("ascii", "ignore")},
    )


def broken_off(broke: Break, cassette: Path) -> httpx.TransportError:
    """The exception that ended an exchange, of the class and with the text that it had then."""
    error: httpx.TransportError = getattr(httpx, broke.kind)(broke.message)
    error.add_note(f"The exchange broke off when it was recorded: this is from {cassette}.")
    return error


class _Replayed(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded body, which never makes anybody wait."""

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
