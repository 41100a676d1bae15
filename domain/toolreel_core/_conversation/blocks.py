"""A rope: JSON texts joined into blocks that are never copied again.

Every turn sends the whole conversation, possibly megabytes. Joining it again for each request would make the
cost of a turn grow with the conversation. Instead, texts are joined into blocks; all later states and
request bodies share a full block. The texts after the last full block are kept in tuples of eight
("handfuls"), which states share too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, cast

from pyrsistent import PVector, pvector

from toolreel_core._internal.fast_constructor import maker
from toolreel_core._jsontext.canonical import Json, JsonText, canonical, parse

BLOCK: Final = 32_768
"""Minimum bytes of a full block."""
HANDFUL: Final = 8
"""Texts per handful. Each state copies only the texts after the last full handful."""

_NOTHING: Final[PVector[bytes]] = pvector()


@dataclass(frozen=True, slots=True)
class Rope:
    """A sequence of JSON texts, the elements of an array; appending costs the same at any length."""

    full: PVector[bytes] = _NOTHING
    """Blocks of joined texts in UTF-8; each but the first begins with a comma."""
    full_count: int = 0
    """How many texts are in those."""
    full_size: int = 0
    """UTF-8 bytes of these texts, without commas."""
    handfuls: tuple[tuple[bytes, ...], ...] = ()
    """The texts behind the full blocks."""
    newest: tuple[bytes, ...] = ()
    """The texts behind those, too few for a handful."""
    size: int = 0
    """UTF-8 bytes of all texts, without commas."""

    def append(self, text: bytes) -> Rope:
        """This row with one more text at its end.

        >>> [*Rope().append(b"1").append(b'"a"')]
        ['1', '"a"']
        """
        size, newest = self.size + len(text), (*self.newest, text)
        if size - self.full_size >= BLOCK:
            block = self._comma() + b",".join([*chain.from_iterable(self.handfuls), *newest])
            return _rope(self.full.append(block), self.count + 1, size, (), (), size)
        if len(newest) < HANDFUL:
            return _rope(self.full, self.full_count, self.full_size, self.handfuls, newest, size)
        return _rope(self.full, self.full_count, self.full_size, (*self.handfuls, newest), (), size)

    @property
    def count(self) -> int:
        """How many texts there are in all."""
        return self.full_count + HANDFUL * len(self.handfuls) + len(self.newest)

    def pieces(self) -> tuple[bytes, ...]:
        """The comma-separated texts in pieces; all but the last piece are shared with earlier ropes."""
        behind = [*chain.from_iterable(self.handfuls), *self.newest]
        return (*self.full, self._comma() + b",".join(behind)) if behind else tuple(self.full)

    def values(self) -> Iterator[Json]:
        """The parsed values, lazily: one block at a time, then text by text."""
        for block in self.full:
            yield from _values(block)
        for text in (*chain.from_iterable(self.handfuls), *self.newest):
            yield _value(text)

    def values_with(self, *words: bytes) -> Iterator[Json]:
        """The parsed values of each block or single text that contains one of the words."""
        for block in self.full:
            if any(word in block for word in words):
                yield from _values(block)
        for text in (*chain.from_iterable(self.handfuls), *self.newest):
            if any(word in text for word in words):
                yield _value(text)

    def values_from_the_end(self) -> Iterator[Json]:
        """The parsed values, newest first."""
        for text in reversed([*chain.from_iterable(self.handfuls), *self.newest]):
            yield _value(text)
        for block in reversed(self.full):
            yield from reversed(_values(block))

    def _comma(self) -> bytes:
        return b"," if self.full else b""

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[JsonText]:
        return map(canonical, self.values())

    def __getitem__(self, index: int) -> JsonText:
        texts: list[JsonText] = [*self]
        return texts[index]


_rope: Final = maker(Rope)


def _value(text: bytes) -> Json:
    return parse(JsonText(text.decode()))


def _values(block: bytes) -> Sequence[Json]:
    return cast("Sequence[Json]", _value(b"[%b]" % block.removeprefix(b",")))
