"""Prices of models: what a plan says of them, for all endpoints or for one.

The same model costs differently at different providers, so a price of an endpoint goes over that of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from toolreel_core._internal import Table
from toolreel_core._jsontext import Json
from toolreel_core._settings import Price as RunPrice


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model per million tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The cost of this many tokens.

        >>> Price(0.3, 1.2).cost(1_000_000, 500_000)
        0.9
        """
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1_000_000

    @property
    def of_run(self) -> RunPrice:
        """The same for the plan of a run, which calls the parts otherwise."""
        return RunPrice(self.prompt, self.completion)


@dataclass(frozen=True, slots=True)
class PriceList:
    """What models cost, and where."""

    everywhere: Mapping[str, Price] = field(default_factory=dict)
    """By the name of the model in the plan."""
    at_endpoints: Mapping[str, Mapping[str, Price]] = field(default_factory=dict)
    """The same by the name of the endpoint."""

    def price(self, model: str, endpoint: str = "") -> Price | None:
        """The price of a model at an endpoint; ``None`` if it is unknown."""
        return self.at_endpoints.get(endpoint, {}).get(model) or self.everywhere.get(model)


def prices_of(table: Table) -> tuple[tuple[str, Price], ...]:
    """Prices by model, as a plan's table ``[prices."MODEL"]`` has them.

    :raises PlaceError: if one is half a price, or none
    """
    found = []
    for model, price in table.tables():
        parts = [price.only("prompt", "completion").amount(key) for key in ("prompt", "completion")]
        if None in parts:
            raise price.complaint("expected prompt and completion, for a million tokens each")
        found.append((model, Price(*cast("list[float]", parts))))
    return tuple(found)


def prices_tree(prices: Iterable[tuple[str, Price]]) -> dict[str, Json]:
    """The table that they are read from."""
    return {model: {"prompt": price.prompt, "completion": price.completion} for model, price in prices}
