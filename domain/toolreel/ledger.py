"""A map that grows by an entry a turn, and of which every state of a run keeps its own version.

It is a few layers of plain dicts, each at least twice as large as the next. A new entry is a layer of its
own, joined with those that are not larger; so an entry is copied as often as the map has doubled since, a
version shares its large layers with those before it, and looking up is looking into a few dicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Ledger"]

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ledger(Generic[_Value]):
    """An immutable map from texts to anything but ``None``.

    >>> before = Ledger.of({"a": 1})
    >>> before.set("b", 2), before
    (Ledger({'a': 1, 'b': 2}), Ledger({'a': 1}))
    """

    layers: tuple[Mapping[str, _Value], ...] = ()
    """The oldest and largest first; what stands in a later layer counts."""

    @classmethod
    def of(cls, entries: Mapping[str, _Value]) -> Ledger[_Value]:
        """The map with these entries."""
        return cls(({**entries},) if entries else ())

    def set(self, key: str, value: _Value) -> Ledger[_Value]:
        """This map with one more entry, or with another value for a key that it has."""
        kept, newest = len(self.layers), {key: value}
        while kept and len(self.layers[kept - 1]) < 2 * len(newest):
            kept -= 1
            newest = {**self.layers[kept], **newest}
        return Ledger((*self.layers[:kept], newest))

    def get(self, key: str) -> _Value | None:
        """The value of a key, if it has one."""
        for layer in reversed(self.layers):
            if key in layer:
                return layer[key]
        return None

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: str) -> _Value:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def keys(self) -> Iterator[str]:
        """All keys, in the order in which they came."""
        return iter(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __bool__(self) -> bool:
        return bool(self.layers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._whole() == other._whole()

    def __hash__(self) -> int:
        return hash(frozenset(self._whole().items()))

    def __repr__(self) -> str:
        return f"Ledger({self._whole()})"

    def _whole(self) -> dict[str, _Value]:
        return {key: value for layer in self.layers for key, value in layer.items()}
