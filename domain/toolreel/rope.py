"""Texts in a row, in blocks that are joined once.

A conversation of megabytes goes out in every turn. Were its body put together anew each time, a turn would
cost what the whole conversation costs; so the texts are joined into blocks, and a block that is full is
never copied again: all later states, and the bodies of all later requests, share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pyrsistent import PVector, pvector

from toolreel.jsontext import Json, JsonText, canonical, parse
from toolreel.making import maker

__all__ = ["BLOCK", "Rope"]

BLOCK: Final = 32_768
"""Bytes from which on a block is full."""

_NOTHING: Final[PVector[bytes]] = pvector()


@dataclass(frozen=True, slots=True)
class Rope:
    """JSON texts in a row, as they stand in an array."""

    full: PVector[bytes] = _NOTHING
    """Blocks of joined texts in UTF-8; each but the first begins with a comma."""
    open: PVector[bytes] = _NOTHING
    """The texts behind them, one by one."""
    open_size: int = 0
    """UTF-8 bytes of those."""
    count: int = 0
    """How many texts there are in all."""
    size: int = 0
    """UTF-8 bytes of all of them, without commas."""

    def append(self, text: bytes) -> Rope:
        """This row with one more text at its end.

        >>> [*Rope().append(b"1").append(b'"a"')]
        ['1', '"a"']
        """
        size = len(text)
        after = self.open.append(text)
        if self.open_size + size < BLOCK:
            return _rope(self.full, after, self.open_size + size, self.count + 1, self.size + size)
        block = self._comma() + b",".join(after)
        return _rope(self.full.append(block), _NOTHING, 0, self.count + 1, self.size + size)

    def pieces(self) -> tuple[bytes, ...]:
        """The texts with commas between them, in pieces, of which all but the last one are shared."""
        return (*self.full, self._comma() + b",".join(self.open)) if self.open else tuple(self.full)

    def _comma(self) -> bytes:
        return b"," if self.full else b""

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[JsonText]:
        whole = JsonText(f"[{b''.join(self.pieces()).decode()}]")
        return map(canonical, cast("Sequence[Json]", parse(whole)))

    def __getitem__(self, index: int) -> JsonText:
        texts: list[JsonText] = [*self]
        return texts[index]


_rope: Final = maker(Rope)
