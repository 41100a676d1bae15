"""Decompressing a body piece by piece, so that whoever counts can stop in time.

gzip and deflate come with Python; br and zstd need the package that httpx needs for them. httpx asks
servers for those two only where it finds that package, but a server may send them unasked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

__all__ = ["PACKAGES", "Inflater", "Unfit", "Unsupported", "inflater"]

Room: TypeAlias = Callable[[], int]
"""How many bytes may still come out; asked before each piece."""

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}
"""Encodings that need a package, and what it is called; any of them will do."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_RAW_DEFLATE: Final = -zlib.MAX_WBITS

_ZSTD_SLICE: Final = 32
"""Bytes that zstd is fed at once: no 3 of them come out as more than a block, which is 128 KiB."""

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

    def pieces(self, raw: bytes, room: Room) -> Iterator[bytes]:
        """What the next raw bytes come out as, in pieces that may be counted one by one.

        :raises Unfit: when the bytes do not fit the encoding
        """
        ...


def inflater(encoding: str) -> Inflater:
    """The inflater for a content coding, in small letters.

    :raises Unsupported: when there is none, or the package that it needs is not there
    """
    match encoding:
        case "gzip" | "x-gzip":
            return _Gzip(_GZIP)
        case "deflate":
            return _Deflate()
        case "br":
            return _Brotli(_package("br"))
        case "zstd":
            return _Zstd(_package("zstd"))
        case _:
            raise Unsupported("is not supported")


class _Gzip:
    def __init__(self, wbits: int) -> None:
        self._stream = zlib.decompressobj(wbits)

    @property
    def whole(self) -> bool:
        return self._stream.eof

    def pieces(self, raw: bytes, room: Room) -> Iterator[bytes]:
        while raw:
            if self._stream.eof:
                raise Unfit("goes on after its end")
            try:
                piece = self._stream.decompress(raw, room() + 1)
            except zlib.error as error:
                raise Unfit(f"is corrupt: {error}") from error
            yield piece
            raw = self._stream.unused_data or self._stream.unconsumed_tail


class _Deflate:
    """The two things that servers call deflate: RFC 9110 means zlib, some send it raw."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: _Gzip | None = None

    @property
    def whole(self) -> bool:
        return self._stream is not None and self._stream.whole

    def pieces(self, raw: bytes, room: Room) -> Iterator[bytes]:
        if self._stream is None:
            self._head += raw
            if len(self._head) < 2:
                return
            self._stream, raw = _Gzip(_wrapping(self._head)), self._head
        yield from self._stream.pieces(raw, room)


class _Brotli:
    def __init__(self, brotli: ModuleType) -> None:
        if not hasattr(brotli.Decompressor, "can_accept_more_data"):
            raise Unsupported(f"needs {brotli.__name__} 1.2 or newer, which can stop in the middle")
        self._stream: Any = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def pieces(self, raw: bytes, room: Room) -> Iterator[bytes]:
        if not raw:
            return
        try:
            yield self._stream.process(raw, output_buffer_limit=room() + 1)
            while not (self.whole or self._stream.can_accept_more_data()):
                yield self._stream.process(b"", output_buffer_limit=room() + 1)
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

    def pieces(self, raw: bytes, room: Room) -> Iterator[bytes]:  # noqa: ARG002 - its slices are small
        for start in range(0, len(raw), _ZSTD_SLICE):
            left = raw[start : start + _ZSTD_SLICE]
            while left:
                if self._stream.eof:
                    self._stream = self._frame()
                try:
                    yield self._stream.decompress(left)
                except self._zstandard.ZstdError as error:
                    raise Unfit(f"is corrupt: {error}") from error
                left = self._stream.unused_data

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


def _wrapping(head: bytes) -> int:
    is_zlib = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if is_zlib else _RAW_DEFLATE
