"""A map that grows by an entry a turn, and of which every state of a run keeps its own version.

It is a few layers of plain dicts, each at least twice as large as the next, and a handful of entries that
stand by themselves, each with the version before it. When there are too many of these, they become a layer,
joined with those that are not larger; so an entry is copied as often as the map has doubled since, a
version shares its large layers with those before it, and looking up is looking into a few dicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from toolreel_core._internal.frozen import maker

__all__ = ["HANDFUL", "Ledger"]

HANDFUL: Final = 8
"""Entries that stand by themselves, at most."""

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
    before: Ledger[_Value] | None = None
    """The map without its newest entry, if that stands by itself: it counts before all layers."""
    key: str = ""
    """The newest entry's."""
    value: _Value | None = None
    """The newest entry's."""
    alone: int = 0
    """How many entries stand by themselves."""

    @classmethod
    def of(cls, entries: Mapping[str, _Value]) -> Ledger[_Value]:
        """The map with these entries."""
        return cls(({**entries},) if entries else ())

    def set(self, key: str, value: _Value) -> Ledger[_Value]:
        """This map with one more entry, or with another value for a key that it has."""
        after: Ledger[_Value] = _ledger(self.layers, self, key, value, self.alone + 1)
        return after if self.alone < HANDFUL else Ledger(after._joined())

    def get(self, key: str) -> _Value | None:
        """The value of a key, if it has one."""
        at = self
        while at.before is not None:
            if at.key == key:
                return at.value
            at = at.before
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
        return self.before is not None or bool(self.layers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._whole() == other._whole()

    def __hash__(self) -> int:
        return hash(frozenset(self._whole().items()))

    def __repr__(self) -> str:
        return f"Ledger({self._whole()})"

    def _whole(self) -> dict[str, _Value]:
        return {key: value for layer in (*self.layers, self._newest()) for key, value in layer.items()}

    def _newest(self) -> dict[str, _Value]:
        """The entries that stand by themselves."""
        alone: list[Ledger[_Value]] = [self]
        while alone[-1].before is not None:
            alone.append(alone[-1].before)
        return {at.key: cast("_Value", at.value) for at in reversed(alone[:-1])}

    def _joined(self) -> tuple[Mapping[str, _Value], ...]:
        """Layers with all entries."""
        kept, newest = len(self.layers), self._newest()
        while kept and len(self.layers[kept - 1]) < 2 * len(newest):
            kept -= 1
            newest = {**self.layers[kept], **newest}
        return (*self.layers[:kept], newest)


_ledger: Final[Any] = maker(Ledger)
