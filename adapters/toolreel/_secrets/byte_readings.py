"""The texts that bytes may mean: UTF-8 first, then what is packed in them, then UTF-16 and UTF-32.

No header is trusted here, as a server may name another encoding than it uses, or none.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

_UNPACKED: Final = 64 * 2**20
"""Maximum size of what is unpacked, in bytes."""
_LAYERS: Final = 3
"""Maximum number of packings inside each other."""
_PIECE: Final = 4_096
"""Bytes that are unpacked at once: what a damaged body has before the damage is read nevertheless."""
_WITH_HEADER: Final = 47
"""``wbits`` for gzip and zlib, as the header says."""
_RAW: Final = -15
_MARKS: Final = "\ufeff\ufffd"
"""What byte order marks leave, read in the right encoding or another; no JSON begins with them."""
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def readings(body: bytes, layers: int = _LAYERS) -> Iterator[str]:
    r"""The texts that a body may mean, each at least once.

    >>> [*readings(b"hi")], "hi" in [*readings("hi".encode("utf-16"))]
    (['hi'], True)
    """
    text = body.decode("utf-8", "replace")
    yield text.lstrip(_MARKS)
    if "\0" in text or body.startswith(_BYTE_ORDER_MARKS):
        yield as_ascii(text)
        for encoding in ("utf-16-le", "utf-16-be"):
            yield body.decode(encoding, "replace").lstrip(_MARKS)
    if layers and not text.isascii():
        for wbits in (_WITH_HEADER, _RAW):
            if unpacked := _unpacked(body, wbits):
                yield from readings(unpacked, layers - 1)


def as_ascii(text: str) -> str:
    r"""All of ASCII in UTF-16 or UTF-32 that was read as UTF-8, wherever it begins.

    >>> as_ascii("\ufffd\ufffdh\0i\0")
    'hi'
    """
    return text.replace("\0", "").lstrip(_MARKS)


def _unpacked(body: bytes, wbits: int) -> bytes:
    """What is packed in bytes, as far as they can be unpacked; empty if nothing is."""
    found = bytearray()
    decoder = zlib.decompressobj(wbits)
    try:
        for at in range(0, len(body), _PIECE):
            rest = body[at : at + _PIECE]
            while rest and len(found) < _UNPACKED:
                found += decoder.decompress(rest, _UNPACKED - len(found))
                rest = decoder.unused_data
                if decoder.eof:  # gzip may have several members
                    decoder = zlib.decompressobj(wbits)
    except zlib.error:
        pass
    return bytes(found)
