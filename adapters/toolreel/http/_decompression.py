"""Decompressing a body no further than somebody wants to have it.

Our own requests ask for gzip and deflate, which come with Python. br and zstd are for recordings of other
clients, and for servers that send them unasked; they need the package that httpx needs for them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol

__all__ = ["PACKAGES", "Inflater", "Unfit", "Unsupported", "inflater"]

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}
"""Encodings that need a package, and what it is called; any of them will do."""

_ZSTD_SLICE: Final = 32
"""Bytes that zstd is fed at once, as it cannot stop: no 3 of them come out as more than a block, 128 KiB."""

_ZSTD_WINDOW: Final = 8 * 2**20
"""The most memory that a zstd body may ask for (RFC 9659)."""


class Unsupported(Exception):
    """An encoding that cannot be decoded here; says why."""


class Unfit(Exception):
    """Bytes that are not in the encoding that was named; says why."""


class Inflater(Protocol):
    """One body under decompression."""

    @property
    def whole(self) -> bool:
        """Whether the body has come to its end."""
        ...

    def inflate(self, raw: bytes, enough: int) -> bytes:
        """All that the next raw bytes come out as, or as soon as it is ``enough`` bytes, no more.

        :raises Unfit: when the bytes do not fit the encoding
        """
        ...


def inflater(encoding: str) -> Inflater:
    """The inflater for a content coding, in small letters.

    :raises Unsupported: when there is none, or the package that it needs is not there
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
        self._stream = None if encoding == "deflate" else zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def whole(self) -> bool:
        return self._stream is not None and self._stream.eof

    def inflate(self, raw: bytes, enough: int) -> bytes:
        if self._stream is None:
            self._head += raw
            if len(self._head) < 2:
                return b""
            self._stream, raw = zlib.decompressobj(_deflated(self._head)), self._head
        try:
            piece = self._stream.decompress(raw, enough)
        except zlib.error as error:
            raise Unfit(f"is corrupt: {error}") from error
        if self._stream.unused_data:
            raise Unfit("goes on after its end")
        return piece


class _Brotli:
    def __init__(self, brotli: ModuleType) -> None:
        if not hasattr(brotli.Decompressor, "can_accept_more_data"):
            raise Unsupported(f"needs {brotli.__name__} 1.2 or newer, which can stop in the middle")
        self._stream: Any = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def inflate(self, raw: bytes, enough: int) -> bytes:
        try:
            return bytes(self._stream.process(raw, output_buffer_limit=enough)) if raw else b""
        except self._error as error:
            raise Unfit(f"is corrupt: {error}") from error


class _Zstd:
    """One frame after another, as RFC 8878 has it."""

    def __init__(self, zstandard: ModuleType) -> None:
        self._zstandard = zstandard
        self._stream = self._frame()

    @property
    def whole(self) -> bool:
        return bool(self._stream.eof)

    def inflate(self, raw: bytes, enough: int) -> bytes:
        piece = bytearray()
        for start in range(0, len(raw), _ZSTD_SLICE):
            left = raw[start : start + _ZSTD_SLICE]
            while left and len(piece) < enough:
                if self._stream.eof:
                    self._stream = self._frame()
                try:
                    piece += self._stream.decompress(left)
                except self._zstandard.ZstdError as error:
                    raise Unfit(f"is corrupt: {error}") from error
                left = self._stream.unused_data
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


def _deflated(head: bytes) -> int:
    """How zlib takes what servers call deflate: RFC 9110 means zlib's own header, and some send none."""
    has_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
