"""Taking in a response body with a cap, safe against decompression bombs.

httpx's own ``iter_bytes`` decodes a whole raw chunk at once, so that 64 kB from the wire can
become 64 MB before anybody has counted. :class:`BoundedDecoder` is fed the raw chunks
(``Response.iter_raw()`` or ``aiter_raw()``) and stops at the first byte above the cap.
"""

from __future__ import annotations

from typing import Final

from toolreel._errors import AdapterError
from toolreel.http._decompression import Inflater, Unfit, Unsupported, inflater

__all__ = ["ACCEPT_ENCODING", "BodyError", "BoundedDecoder", "Stalled", "TooLarge", "UndecodableBody"]

ACCEPT_ENCODING: Final = "gzip, deflate"
"""What a request of ours asks for: the encodings that can be decoded everywhere. Those of other clients ask
for more, and servers send what they like: br and zstd are decoded where their packages are there."""

_PLAIN: Final = frozenset({"", "identity"})


class BodyError(AdapterError):
    """A response body that was not taken in."""


class TooLarge(BodyError):
    """A response body whose decoded size is above the cap."""


class UndecodableBody(BodyError):
    """A response body in an encoding that is not supported, or that its encoding does not fit."""


class Stalled(BodyError):
    """A streamed response body that goes on and says nothing."""


class BoundedDecoder:
    """Decodes one response body, chunk by chunk, and holds at most ``limit`` bytes of it.

    >>> decoder = BoundedDecoder("gzip", limit=100)
    >>> decoder.feed(__import__("gzip").compress(b"hello"))
    b'hello'
    >>> decoder.finish()
    b'hello'

    :param content_encoding: the response's ``content-encoding`` header, empty when it has none
    :param limit: the largest decoded body that is accepted, in bytes
    :raises UndecodableBody: for every other encoding, and for encodings applied one upon another
    """

    __slots__ = ("_began", "_body", "_encoding", "_limit", "_stream")

    def __init__(self, content_encoding: str, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"limit must not be negative, got {limit!r}")
        self._encoding = content_encoding.strip().lower()
        self._limit = limit
        self._body = bytearray()
        self._began = False
        self._stream: Inflater | None = None
        if self._encoding in _PLAIN:
            return
        try:
            self._stream = inflater(self._encoding)
        except Unsupported as error:
            raise UndecodableBody(
                f"content-encoding {content_encoding!r} {error}; "
                f"or ask for another with 'accept-encoding: {ACCEPT_ENCODING}'"
            ) from None

    @property
    def body(self) -> bytes:
        """What has been decoded so far."""
        return bytes(self._body)

    def feed(self, raw: bytes) -> bytes:
        """Take in the next raw chunk, and give what it decodes to.

        :raises TooLarge: as soon as the decoded body is above the limit
        :raises UndecodableBody: when the bytes do not fit the encoding
        """
        self._began = self._began or bool(raw)
        if self._stream is None:
            self._keep(raw)
            return raw
        try:
            piece = self._stream.inflate(raw, self._limit - len(self._body) + 1)
        except Unfit as error:
            raise UndecodableBody(f"the {self._encoding} body {error}") from error
        self._keep(piece)
        return piece

    def finish(self) -> bytes:
        """The whole decoded body, once the far side has sent everything.

        A body of no bytes at all is empty in every encoding, as for a ``HEAD`` request.

        :raises UndecodableBody: when a compressed body was cut off
        """
        if self._began and self._stream is not None and not self._stream.whole:
            raise UndecodableBody(
                f"the {self._encoding} body was cut off, {len(self._body)} bytes came out of it"
            )
        return self.body

    def _keep(self, piece: bytes) -> None:
        if len(self._body) + len(piece) > self._limit:
            raise TooLarge(f"the response body is larger than {self._limit} bytes when decoded")
        self._body += piece
