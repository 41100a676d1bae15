"""Decodes a response body up to a size limit, which protects against decompression bombs.

httpx's ``iter_bytes`` decodes a whole raw chunk at once, so that 64 kB from the wire can become 64 MB
before you can check the size. Feed :class:`BoundedDecoder` the raw chunks (``Response.iter_raw()`` or
``aiter_raw()``); it stops at the first byte above the limit.
"""

from __future__ import annotations

from typing import Final

from toolreel._errors import AdapterError
from toolreel.http._decompression import Inflater, Unfit, Unsupported, inflater

ACCEPT_ENCODING: Final = "gzip, deflate"
"""The ``accept-encoding`` of our requests: the encodings that Python itself can decode. Other clients (in
recordings) ask for more and servers may send anything, so br and zstd are decoded if their packages exist."""

_PLAIN: Final = frozenset({"", "identity"})


class BodyError(AdapterError):
    """A response body that could not be read."""


class TooLarge(BodyError):
    """A response body whose decoded size exceeds the limit."""


class UndecodableBody(BodyError):
    """A response body that is corrupt, truncated or in an unsupported encoding."""


class Stalled(BodyError):
    """A response that missed its deadline, or a stream without data from the model for too long."""


class BoundedDecoder:
    """Decodes one response body, chunk by chunk, and holds at most ``limit`` bytes of it.

    >>> decoder = BoundedDecoder("gzip", limit=100)
    >>> decoder.feed(__import__("gzip").compress(b"hello"))
    b'hello'
    >>> decoder.finish()
    b'hello'

    :param content_encoding: the response's ``content-encoding`` header, empty when it has none
    :param limit: the largest decoded body that is accepted, in bytes
    :raises UndecodableBody: if the encoding is not supported; several encodings in a row are not
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
        """The decoded bytes so far."""
        return bytes(self._body)

    def feed(self, raw: bytes) -> bytes:
        """Decode the next raw chunk, and return the decoded bytes.

        :raises TooLarge: as soon as the decoded body exceeds the limit
        :raises UndecodableBody: when the bytes do not fit the encoding
        """
        self._began = self._began or bool(raw)
        if self._stream is None:
            self._keep(raw)
            return raw
        try:
            # One byte more than allowed, so that _keep sees a body that is too large.
            piece = self._stream.inflate(raw, self._limit - len(self._body) + 1)
        except Unfit as error:
            raise UndecodableBody(f"the {self._encoding} body {error}") from error
        self._keep(piece)
        return piece

    def finish(self) -> bytes:
        """The whole decoded body; call it after the last chunk.

        A body of zero bytes is valid in every encoding, as in the response to a ``HEAD`` request.

        :raises UndecodableBody: if a compressed body is truncated
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
