"""What a cassette holds of an exchange, as a client of httpx gets it: a response, or an exception.

A stream of events comes event by event, as it did when it was recorded; where the connection broke in the
middle of it, the exception comes after the last of them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from toolreel._errors import CassetteError, MissingExtra
from toolreel.cassette._failures import Break
from toolreel.cassette._tape import StoredResponse
from toolreel.http._decompression import PACKAGES

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

__all__ = ["broken_off", "is_stream", "pieces_of", "refuse_unreadable", "replayed", "response_of"]

# An event ends with an empty line, in whichever of the three line ends the server writes.
_EVENT_END: Final = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


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


def is_stream(stored: StoredResponse) -> bool:
    """Whether a response is a stream of events."""
    kinds = [value for name, value in stored.headers if name == "content-type"]
    return bool(kinds) and kinds[0].lower().startswith("text/event-stream")


def pieces_of(stored: StoredResponse) -> Iterator[bytes]:
    """A stream event by event, as it was recorded; everything else whole."""
    if is_stream(stored):
        return (piece for piece in _EVENT_END.split(stored.body) if piece)
    return iter((stored.body,))


def refuse_unreadable(stored: StoredResponse, cassette: Path) -> None:
    """Fail where the body is in an encoding that cannot be decoded here.

    :raises CassetteError: names the package that does
    """
    encodings = [value for name, value in stored.headers if name == "content-encoding"]
    for encoding in ",".join(encodings).lower().split(","):
        packages = PACKAGES.get(encoding.strip(), ())
        if packages and not any(find_spec(package) for package in packages):
            raise CassetteError(
                f"{cassette}: a response was recorded in the encoding {encoding.strip()!r}, which httpx "
                f"decodes only with the package {packages[0]}: pip install {packages[0]}"
            )
