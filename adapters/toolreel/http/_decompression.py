"""Incremental decompression with a limit on the output, for gzip, deflate, br and zstd.

Our own requests ask for gzip and deflate, which are part of Python. br and zstd occur in recordings of other
clients, and some servers send them unasked; they need the same packages as in httpx.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}
"""Encodings that need a package, with the names of the packages; one of them is enough."""

_ZSTD_SLICE: Final = 32
"""Bytes fed to zstd at once, since it has no output limit: 3 bytes decode to at most a block, 128 KiB."""

_ZSTD_WINDOW: Final = 8 * 2**20
"""Maximum window of a zstd body, in bytes (RFC 9659 requires clients to support 8 MB)."""


class Unsupported(Exception):
    """The encoding cannot be decoded here; the message says why."""


class Unfit(Exception):
    """The bytes do not fit the encoding; the message says why."""


class Inflater(Protocol):
    """Decompresses one body."""

    @property
    def whole(self) -> bool:
        """Whether the end of the compressed data was reached."""
        ...

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        """Decompress the next raw bytes; stop at about ``max_length`` decoded bytes.

        :raises Unfit: when the bytes do not fit the encoding
        """
        ...


def inflater(encoding: str) -> Inflater:
    """The decompressor for a content coding, given in lower case.

    :raises Unsupported: if the coding is unknown or its package is not installed
    """
    match encoding:
        case "gzip" | "x-gzip" | "deflate":
            return _Zlib(encoding)
        case "br":
            return _Brotli(_package("br"))
        case "zstd":
            return _Zstd(_package("zstd"))
        case _:
            raise Unsupported("is not supported")


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
            raise Unfit(f"is corrupt: {error}") from error
        if self._stream.unused_data:
            raise Unfit("goes on after its end")
        return piece


class _Brotli:
    def __init__(self, brotli: ModuleType) -> None:
        if not hasattr(brotli.Decompressor, "can_accept_more_data"):  # older ones ignore the output limit
            raise Unsupported(f"needs {brotli.__name__} 1.2 or newer, which can stop in the middle")
        self._stream: Any = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        try:
            return bytes(self._stream.process(raw, output_buffer_limit=max_length)) if raw else b""
        except self._error as error:
            raise Unfit(f"is corrupt: {error}") from error


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
                    raise Unfit(f"is corrupt: {error}") from error
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
    raise Unsupported(f"needs the package {names[0]}: pip install {names[0]}")


def _deflate_wbits(head: bytes) -> int:
    """The ``wbits`` for a deflate body: RFC 9110, 8.4.1.2, requires a zlib header; some servers omit it."""
    # RFC 1950, 2.2: the low four bits name the method, and the first two bytes are a multiple of 31.
    has_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
