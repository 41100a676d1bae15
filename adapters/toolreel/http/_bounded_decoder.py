"""Decodes a response body up to a size limit, which protects against decompression bombs.

httpx's ``iter_bytes`` decodes a whole raw chunk at once, so that 64 kB from the wire can become 64 MB
before you can check the size. Feed :class:`BoundedDecoder` the raw chunks (``Response.iter_raw()`` or
``aiter_raw()``); it stops at the first byte above the limit.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from toolreel._internal import AdapterError

ACCEPT_ENCODING: Final = "gzip, deflate"
"""The ``accept-encoding`` of our requests: the encodings that Python itself can decode. Other clients (in
recordings) ask for more and servers may send anything, so br and zstd are decoded if their packages exist."""

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}
"""Encodings that need a package, with the names of the packages; one of them is enough."""

_PACKING: Final = 65_536
"""Bytes by which a compressed body may exceed the limit of a decoded one: the marks of its compression."""

_ZSTD_SLICE: Final = 32
"""Bytes fed to zstd at once, since it has no output limit: 3 bytes decode to at most a block, 128 KiB."""

_ZSTD_WINDOW: Final = 8 * 2**20
"""Maximum window of a zstd body, in bytes (RFC 9659 requires clients to support 8 MB)."""


class BodyError(AdapterError):
    """A response body that could not be read."""


class TooLarge(BodyError):
    """A response body whose size exceeds the limit."""


class UndecodableBody(BodyError):
    """A response body that is corrupt, truncated or in an unsupported encoding."""


class Stalled(BodyError):
    """A response that missed its deadline, or a stream without data from the model for too long."""


class BoundedDecoder:
    """Decodes one response body, chunk by chunk, and holds at most ``limit`` bytes of it.

    The raw bytes are limited as well, since empty gzip blocks and skippable zstd frames decode to nothing.

    >>> decoder = BoundedDecoder("gzip", limit=100)
    >>> decoder.feed(__import__("gzip").compress(b"hello"))
    b'hello'
    >>> decoder.finish()
    b'hello'

    :param content_encoding: the response's ``content-encoding`` header, empty when it has none
    :param limit: the largest decoded body that is accepted, in bytes
    :raises UndecodableBody: if the encoding is not supported; several encodings in a row are not
    """

    __slots__ = ("_body", "_encoding", "_limit", "_raw_size", "_stream")

    def __init__(self, content_encoding: str, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"limit must not be negative, got {limit!r}")
        self._encoding = content_encoding.strip().lower()
        self._limit = limit
        self._body = bytearray()
        self._raw_size = 0
        try:
            self._stream = _inflater(self._encoding)
        except _Unfit as error:
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

        :raises TooLarge: as soon as the body exceeds the limit, decoded or compressed
        :raises UndecodableBody: when the bytes do not fit the encoding
        """
        self._raw_size += len(raw)
        if self._stream is None:
            self._keep(raw)
            return raw
        if self._raw_size > self._limit + _PACKING:
            raise TooLarge(f"the response body is larger than {self._limit} bytes, though it is compressed")
        try:
            # One byte more than allowed, so that _keep sees a body that is too large.
            piece = self._stream.inflate(raw, self._limit - len(self._body) + 1)
        except _Unfit as error:
            raise UndecodableBody(f"the {self._encoding} body {error}") from error
        self._keep(piece)
        return piece

    def finish(self) -> bytes:
        """The whole decoded body; call it after the last chunk.

        A body of zero bytes is valid in every encoding, as in the response to a ``HEAD`` request.

        :raises UndecodableBody: if a compressed body is truncated
        """
        if self._raw_size and self._stream is not None and not self._stream.whole:
            raise UndecodableBody(
                f"the {self._encoding} body was cut off, {len(self._body)} bytes came out of it"
            )
        return self.body

    def _keep(self, piece: bytes) -> None:
        if len(self._body) + len(piece) > self._limit:
            raise TooLarge(f"the response body is larger than {self._limit} bytes when decoded")
        self._body += piece


class _Unfit(Exception):
    """A body, or its encoding, that cannot be decoded; the message says why."""


# Each has `whole`, whether the end of the compressed data was reached, and `inflate(raw, max_length)`, which
# stops at about `max_length` decoded bytes.
def _inflater(encoding: str) -> _Zlib | _Brotli | _Zstd | None:
    match encoding:
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Zlib(encoding)
        case "br":
            return _Brotli(_package("br"))
        case "zstd":
            return _Zstd(_package("zstd"))
        case _:
            raise _Unfit("is not supported")


class _Zlib:
    def __init__(self, encoding: str) -> None:
        self._head = b""
        # 16 makes zlib expect a gzip header. For "deflate", the first two bytes decide: see _deflate_wbits.
        self._stream = None if encoding == "deflate" else zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def whole(self) -> bool:
        return self._stream is not None and self._stream.eof

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        if self._stream is None:
            self._head += raw
            if len(self._head) < 2:
                return b""
            self._stream, raw = zlib.decompressobj(_deflate_wbits(self._head)), self._head
        try:
            piece = self._stream.decompress(raw, max_length)
        except zlib.error as error:
            raise _Unfit(f"is corrupt: {error}") from error
        if self._stream.unused_data:
            raise _Unfit("goes on after its end")
        return piece


class _Brotli:
    def __init__(self, brotli: ModuleType) -> None:
        if not hasattr(brotli.Decompressor, "can_accept_more_data"):  # older ones ignore the output limit
            raise _Unfit(f"needs {brotli.__name__} 1.2 or newer, which can stop in the middle")
        self._stream: Any = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        try:
            return bytes(self._stream.process(raw, output_buffer_limit=max_length)) if raw else b""
        except self._error as error:
            raise _Unfit(f"is corrupt: {error}") from error


class _Zstd:
    """A zstd body is a sequence of frames (RFC 8878, section 3), and each needs a decompressor of its own."""

    def __init__(self, zstandard: ModuleType) -> None:
        self._zstandard = zstandard
        self._stream = self._frame()

    @property
    def whole(self) -> bool:
        return bool(self._stream.eof)

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        piece = bytearray()
        for start in range(0, len(raw), _ZSTD_SLICE):
            remaining = raw[start : start + _ZSTD_SLICE]
            while remaining and len(piece) < max_length:
                if self._stream.eof:
                    self._stream = self._frame()
                try:
                    piece += self._stream.decompress(remaining)
                except self._zstandard.ZstdError as error:
                    raise _Unfit(f"is corrupt: {error}") from error
                remaining = self._stream.unused_data
        return bytes(piece)

    def _frame(self) -> Any:  # noqa: ANN401 - the package has no public name for it
        return self._zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()


def _package(encoding: str) -> ModuleType:
    names = PACKAGES[encoding]
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise _Unfit(f"needs the package {names[0]}: pip install {names[0]}")


def _deflate_wbits(head: bytes) -> int:
    """The ``wbits`` for a deflate body: RFC 9110, 8.4.1.2, requires a zlib header; some servers omit it."""
    # RFC 1950, 2.2: the low four bits name the method, and the first two bytes are a multiple of 31.
    has_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
