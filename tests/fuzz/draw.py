"""From bytes to choices and texts, in the one way that every fuzzer and every kept input share.

An input begins with a byte for each choice; the rest is text. Two bytes that no UTF-8 text holds
stand for a fragment of :data:`~tests.fuzz.fragments.FRAGMENTS`, so that random bytes reach what
lies deep. :func:`plain` writes the fragments out: it means the same, whatever becomes of the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from tests.fuzz.fragments import FRAGMENTS

_Value = TypeVar("_Value")

_ESCAPE = re.compile(rb"\xff(?P<number>..?)?", re.DOTALL)


def fragment(number: int) -> bytes:
    """What stands for a fragment in an input."""
    return b"\xff" + number.to_bytes(2, "big")


def plain(data: bytes) -> bytes:
    """The same input with each fragment written out."""
    return _ESCAPE.sub(_written_out, data)


def _written_out(found: re.Match[bytes]) -> bytes:
    number = int.from_bytes(found["number"] or b"", "big")
    return FRAGMENTS[number % len(FRAGMENTS)].encode()


class Draw:
    """What is left of an input; one that is used up gives first choices and empty texts."""

    def __init__(self, data: bytes) -> None:
        self._left = plain(data)

    def number(self, below: int) -> int:
        """A number that two bytes choose."""
        taken, self._left = self._left[:2], self._left[2:]
        return int.from_bytes(taken, "little") % below

    def one_of(self, values: Sequence[_Value]) -> _Value:
        """A value that one byte chooses."""
        taken, self._left = self._left[:1], self._left[1:]
        return values[taken[0] % len(values) if taken else 0]

    def text(self, most: int) -> str:
        """As many of the next bytes as one byte says, as text."""
        size = self.one_of(range(most + 1))
        taken, self._left = self._left[:size], self._left[size:]
        return _as_text(taken)

    def rest(self) -> str:
        """All that is left, as text."""
        taken, self._left = self._left, b""
        return _as_text(taken)

    def __bool__(self) -> bool:
        return bool(self._left)


def _as_text(data: bytes) -> str:
    """What is no UTF-8 becomes lone surrogates, which texts from outside may hold as well."""
    return data.decode("utf-8", "surrogateescape")
