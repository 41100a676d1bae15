"""Draws: the constants of a trial, which follow from its seed alone.

A constant that is drawn cannot be memorised, and trials differ even at temperature 0. Built on digests, so
that every machine and version of Python draws the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from toolreel_core._jsontext import chain

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Draws:
    """What a seed stands for; each constant is drawn under a name, so that their order does not matter."""

    seed: str

    def whole(self, what: str) -> int:
        """The number of 256 bits that everything drawn under this name is made of."""
        return int(chain("draw", what, self.seed), 16)

    def number(self, what: str, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included.

        >>> Draws("1").number("pieces", 2, 9) == Draws("1").number("pieces", 2, 9)
        True
        """
        # 64 bits: the modulus of what is drawn here is far too small for a bias that could be seen.
        return low + (self.whole(what) >> 192) % (high - low + 1)

    def one_of(self, what: str, items: Sequence[_Item]) -> _Item:
        """One of several."""
        return items[self.number(what, 0, len(items) - 1)]

    def several(self, what: str, items: Sequence[_Item], count: int) -> tuple[_Item, ...]:
        """That many different places of a sequence, in the order in which they were drawn.

        >>> sorted(Draws("1").several("rooms", "abc", 3))
        ['a', 'b', 'c']
        """
        left, drawn = [*items], list[_Item]()
        for place in range(count):
            drawn.append(left.pop(self.number(f"{what} {place}", 0, len(left) - 1)))
        return tuple(drawn)

    def code(self, what: str, prefix: str, digits: int) -> str:
        """An identifier: a prefix and this many digits, the first of which is not zero."""
        return f"{prefix}{self.number(what, 10 ** (digits - 1), 10**digits - 1)}"

    def codes(self, what: str, prefix: str, digits: int, count: int) -> tuple[str, ...]:
        """Several different identifiers, of digits in which none is the beginning of another."""
        low, high = 10 ** (digits - 1), 10**digits - 1
        # Consecutive parts of the range, so that no two can be the same.
        share = (high - low + 1) // count
        parts = self.several(f"{what} parts", range(count), count)
        return tuple(
            f"{prefix}{low + part * share + self.number(f'{what} {part}', 0, share - 1)}" for part in parts
        )


FIRST_NAMES = (
    *("Ada", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas"),
    *("Karin", "Leon", "Maren", "Nils", "Olga", "Paul", "Rosa", "Simon", "Tilda", "Viktor"),
)
LAST_NAMES = (
    *("Quint", "Almond", "Berger", "Castle", "Dorn", "Ekman", "Falk", "Grove", "Holm", "Ibsen"),
    *("Jansen", "Keller", "Lund", "Moss", "Novak", "Olsen", "Perry", "Rask", "Stone", "Vogel"),
)
ROOMS = (
    *("kitchen", "hall", "attic", "cellar", "garage", "study", "nursery", "pantry", "library", "workshop"),
    *("bathroom", "bedroom", "balcony", "veranda"),
)
WORDS = (
    *("amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "hazel", "indigo", "juniper"),
    *("kelp", "linen", "maple", "nickel", "onyx", "pebble", "quartz", "reed", "slate", "tulip"),
    *("umber", "velvet", "willow", "yarrow", "zinc"),
)
ARTICLES = ("LAMP", "CHAIR", "DESK", "SHELF", "STOOL", "VASE", "CLOCK", "FRAME", "BENCH", "RUG")


def full_name(draws: Draws, what: str) -> str:
    """A name of a person."""
    return f"{draws.one_of(f'{what} first', FIRST_NAMES)} {draws.one_of(f'{what} last', LAST_NAMES)}"


def word(draws: Draws, what: str) -> str:
    """A word with a number, such as ``amber-417``, that nobody would say by chance."""
    return f"{draws.one_of(what, WORDS)}-{draws.number(f'{what} number', 100, 999)}"
