"""Prices by model: entries of catalogues, of which the most exact one holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolreel_core._internal import Table
from toolreel_core._plan.presets.model_patterns import best
from toolreel_core._settings import Price


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of one model, or of a family of them."""

    name: str
    patterns: tuple[str, ...]
    """Patterns of the names of its models; ``*`` stands for any text."""
    provider: str
    """The provider that sells at this price; empty: all."""
    price: Price

    @classmethod
    def of(cls, name: str, tree: object) -> ModelPrice:
        """Read a price of a catalogue.

        :raises PlaceError: at the first error, such as ``price.mine.input``
        """
        table = Table.of(tree, "price", name)
        table.only("patterns", "provider", "input", "cached_input", "output", "currency", "as_of", "source")
        return cls(name, table.names("patterns", (name,)), table.text("provider"), Price.of(table))


def price_of(entries: Iterable[ModelPrice], model: str, sells: Callable[[str], bool]) -> Price | None:
    """The price with the most exact pattern for a model; of equally exact ones, the last.

    :param sells: whether an entry's provider is the one that is asked
    """
    found: Price | None = None
    rank = (False, -1)
    for entry in entries:
        exactness = best(entry.patterns, model)
        if exactness is not None and exactness >= rank and (not entry.provider or sells(entry.provider)):
            found, rank = entry.price, exactness
    return found
