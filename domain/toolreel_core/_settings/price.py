"""What a model costs: prices per million tokens, with the day and the page that they were read from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model per million tokens of text.

    :raises ConfigError: if a price is no amount; names the key
    """

    input: float
    """Of the prompt."""
    output: float
    """Of the completion; reasoning counts in it."""
    cached_input: float | None = None
    """Of prompt tokens that the provider had in its cache; ``None``: as :attr:`input`."""
    currency: str = "USD"
    as_of: str = ""
    """The day on which the price was read, as ``YYYY-MM-DD``."""
    source: str = ""
    """URL of the page that says so."""

    def __post_init__(self) -> None:
        keys = ("input", "output") if self.cached_input is None else ("input", "output", "cached_input")
        for key in keys:
            # 1 and 1.0 must give equal plans equal digests.
            object.__setattr__(self, key, _amount(key, getattr(self, key)))

    @classmethod
    def of(cls, table: Table) -> Price:
        """Read a price of a catalogue, without the keys that say which model it is of.

        :raises PlaceError: at the first error
        """
        amounts = [table.amount(key) for key in ("input", "output")]
        if None in amounts:
            raise table.complaint("expected input and output, for a million tokens each")
        given, made = (amount or 0.0 for amount in amounts)
        currency, day = table.text("currency", "USD"), table.day("as_of")
        return cls(given, made, table.amount("cached_input"), currency, day, table.text("source"))

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """The cost of this many tokens.

        >>> Price(2, 8, cached_input=0.5).cost(1_000_000, 500_000, cached_tokens=800_000)
        4.8

        :param cached_tokens: those of the prompt that came from the cache
        """
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = prompt_tokens - min(cached_tokens, prompt_tokens)
        paid = fresh * self.input + (prompt_tokens - fresh) * cached_price + completion_tokens * self.output
        return paid / _MILLION


def _amount(key: str, value: Any) -> float:  # noqa: ANN401 - whatever a caller gave
    if type(value) not in {int, float} or not 0 <= value < math.inf:
        raise ConfigError(f"{key}: expected a number of at least 0 per million tokens, got {value!r}")
    return float(value)
