"""Taking in a response body with a cap, safe against decompression bombs.

httpx's own ``iter_bytes`` decodes a whole raw chunk at once, so that 64 kB from the wire can
become 64 MB before anybody has counted. :class:`BoundedDecoder` is fed the raw chunks
(``Response.iter_raw()`` or ``aiter_raw()``) and stops at the first byte above the cap.
"""

from __future__ import annotations

import zlib
from typing import Final, Protocol

from toolreel_adapters.errors import AdapterError

__all__ = ["ACCEPT_ENCODING", "BodyError", "BoundedDecoder", "Stalled", "TooLarge", "UndecodableBody"]

ACCEPT_ENCODING: Final = "gzip, deflate"
"""What a request may ask for: exactly the encodings that can be decoded within a bound."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_RAW_DEFLATE: Final = -zlib.MAX_WBITS


class BodyError(AdapterError):
    """A response body that was not taken in."""


class TooLarge(BodyError):
    """A response body whose decoded size is above the cap."""


class UndecodableBody(BodyError):
    """A response body in an encoding that is not supported, or that its encoding does not fit."""


class Stalled(BodyError):
    """A streamed response body that goes on and says nothing."""


class _Inflater(Protocol):
    """A ``zlib.decompressobj``, whose class has no public name."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


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

    __slots__ = ("_began", "_body", "_encoding", "_head", "_limit", "_stream")

    def __init__(self, content_encoding: str, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"limit must not be negative, got {limit!r}")
        self._encoding = content_encoding.strip().lower()
        self._limit = limit
        self._body = bytearray()
        self._began = False
        self._head = b""
        self._stream: _Inflater | None = None
        match self._encoding:
            case "" | "identity" | "deflate":
                pass
            case "gzip" | "x-gzip":
                self._stream = zlib.decompressobj(_GZIP)
            case _:
                raise UndecodableBody(
                    f"content-encoding {content_encoding!r} is not supported: "
                    f"ask for it with 'accept-encoding: {ACCEPT_ENCODING}'"
                )

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
        before = len(self._body)
        if self._encoding in {"", "identity"}:
            self._keep(raw)
        elif self._stream is not None:
            self._inflate(self._stream, raw)
        else:
            self._head += raw
            if len(self._head) > 1:
                self._stream = zlib.decompressobj(_wrapping(self._head))
                self._inflate(self._stream, self._head)
        return bytes(memoryview(self._body)[before:])

    def finish(self) -> bytes:
        """The whole decoded body, once the far side has sent everything.

        A body of no bytes at all is empty in every encoding, as for a ``HEAD`` request.

        :raises UndecodableBody: when a compressed body was cut off
        """
        whole = self._encoding in {"", "identity"} or (self._stream is not None and self._stream.eof)
        if self._began and not whole:
            raise UndecodableBody(
                f"the {self._encoding} body was cut off, {len(self._body)} bytes came out of it"
            )
        return self.body

    def _inflate(self, stream: _Inflater, raw: bytes) -> None:
        while raw:
            if stream.eof:
                raise UndecodableBody(f"the {self._encoding} body goes on after its end")
            try:
                piece = stream.decompress(raw, self._limit - len(self._body) + 1)
            except zlib.error as error:
                raise UndecodableBody(f"the {self._encoding} body is corrupt: {error}") from error
            self._keep(piece)
            raw = stream.unused_data or stream.unconsumed_tail

    def _keep(self, piece: bytes) -> None:
        if len(self._body) + len(piece) > self._limit:
            raise TooLarge(f"the response body is larger than {self._limit} bytes when decoded")
        self._body += piece


def _wrapping(head: bytes) -> int:
    """Which of the two things that servers call deflate this is: RFC 9110 means zlib, some send raw."""
    is_zlib = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if is_zlib else _RAW_DEFLATE
