"""Pieces of a stream, put in the places of the values that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyrsistent import PMap, PVector, pmap, pvector

from toolreel_core._jsontext.canonical import Json, Tree

_NO_VALUES: PMap[int, Tree] = pmap()
_NO_PIECES: PVector[tuple[int, str, str]] = pvector()


@dataclass(frozen=True, slots=True)
class Assembly:
    """The blocks or items of a reply while they arrive.

    >>> [*Assembly().begin(0, {"type": "text"}).add(0, "text", "Hel").add(0, "text", "lo").values()]
    [{'type': 'text', 'text': 'Hello'}]
    """

    begun: PMap[int, Tree] = field(default=_NO_VALUES)
    """What a value begins with, by its place."""
    pieces: PVector[tuple[int, str, str]] = field(default=_NO_PIECES)
    """Place, key and text of each piece."""

    def begin(self, place: int, value: Tree) -> Assembly:
        """With a value at a place, instead of the one that was there."""
        kept = pvector(piece for piece in self.pieces if piece[0] != place) if place in self.begun else None
        return replace(self, begun=self.begun.set(place, value), pieces=self.pieces if kept is None else kept)

    def add(self, place: int, key: str, text: str, *, of: str = "") -> Assembly:
        """With more text of a value.

        :param of: the type of the value, if it was not begun
        """
        begun = self.begun if place in self.begun else self.begun.set(place, {"type": of} if of else {})
        return replace(self, begun=begun, pieces=self.pieces.append((place, key, text)))

    def values(self) -> Iterable[Tree]:
        """The values in the order of their places."""
        texts: dict[int, dict[str, list[str]]] = {}
        for place, key, text in self.pieces:
            texts.setdefault(place, {}).setdefault(key, []).append(text)
        for place in sorted(self.begun):
            value = dict(self.begun[place])
            for key, pieces in texts.get(place, {}).items():
                before = value.get(key)
                value[key] = "".join([before if isinstance(before, str) else "", *pieces])
            yield value

    def before(self, place: int, kind: str) -> int:
        """How many values of a type stand before a place."""
        return sum(value.get("type") == kind for at, value in self.begun.items() if at < place)


def number_in(event: Mapping[str, Json], key: str, otherwise: int) -> int:
    """A place that an event names; servers leave it out, or send it as text."""
    given = event.get(key)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return int(given) if isinstance(given, str) and given.isdecimal() and len(given) < _LONGEST else otherwise


_LONGEST = 10
"""Digits from which a place sent as text is ignored."""
