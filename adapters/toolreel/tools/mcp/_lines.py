"""Cutting a stream of bytes into lines, none of which can grow without bound.

A server that writes a gigabyte without a line break, or an answer that is too large, must cost no more
memory than one message may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Lines", "TooLong"]

_EDGE: Final = 512
"""Bytes that are kept of each end of a line that is too long."""
_FIRST: Final = re.compile(rb'^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,')
_LAST: Final = re.compile(rb',\s*"id"\s*:\s*"?(\d{1,15})"?\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was not kept, since it was too long."""

    size: int
    head: bytes
    tail: bytes

    @property
    def request_id(self) -> int | None:
        """The id of the request that it answers, if one of its ends has it; between them, nobody looked.

        >>> TooLong(10**7, b'{"jsonrpc":"2.0","id":7,"result":{"content', b"").request_id
        7
        """
        if first := _FIRST.search(self.head):
            return int(first[2])
        last = _LAST.search(self.tail)
        return int(last[1]) if last else None


class Lines:
    r"""Lines out of pieces.

    >>> lines = Lines(limit=9)
    >>> [*lines.feed(b"one\nt"), *lines.feed(b"wo\n" + b"x" * 20), *lines.feed(b"\nfour\n")]
    [b'one', b'two', TooLong(size=20, head=b'xxxxxxxxxxxxxxxxxxxx', tail=b'xxxxxxxxxxxxxxxxxxxx'), b'four']

    :param limit: the most bytes that a line may have
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._head = b""
        self._passed = 0
        """Bytes of the present line that were let go."""

    @property
    def passed(self) -> int:
        """Bytes of a line that is too long and has no end yet."""
        return self._passed

    def feed(self, piece: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in a piece."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._take(piece[start:end])
            yield self._line()
            start = end + 1
        self._take(piece[start:])

    def _take(self, part: bytes) -> None:
        self._kept += part
        if self._passed + len(self._kept) > self._limit:
            if not self._passed:
                self._head = bytes(self._kept[:_EDGE])
            over = max(0, len(self._kept) - _EDGE)
            self._passed += over
            del self._kept[:over]

    def _line(self) -> bytes | TooLong:
        kept, head, size = bytes(self._kept), self._head, self._passed + len(self._kept)
        self._kept, self._head, self._passed = bytearray(), b"", 0
        return TooLong(size, head, kept) if size > self._limit else kept.removesuffix(b"\r")
