"""What a model costs: prices per million tokens, and estimates of the tokens of a text.

Four bytes a token is a fair guess for English and JSON, and errs on the safe side for most other scripts.
An estimate decides whether a request is sent, so a name must mean one function wherever a run is replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from toolreel_core._config_checks import Registry, check_and_convert_settings

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model per million tokens of text.

    :raises ConfigError: if a price is not an amount; names the key
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
        check_and_convert_settings(self)

    def cost(self, prompt_tokens: float, completion_tokens: float, cached_tokens: float = 0) -> float:
        """The cost of this many tokens.

        >>> Price(2, 8, cached_input=0.5).cost(1_000_000, 500_000, cached_tokens=800_000)
        4.8

        :param cached_tokens: those of the prompt that came from the cache
        """
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = prompt_tokens - min(cached_tokens, prompt_tokens)
        paid = fresh * self.input + (prompt_tokens - fresh) * cached_price + completion_tokens * self.output
        return paid / _MILLION


Estimator: TypeAlias = Callable[[str], int]
"""Returns the number of tokens of a text; pure, and never raises."""

_BYTES_PER_TOKEN = 4
_ESTIMATORS: Registry[Estimator] = Registry("token estimator")


def register_estimator(name: str, estimate: Estimator) -> None:
    """Give an estimator a name."""
    _ESTIMATORS.add(name, estimate)


def estimator(name: str) -> Estimator:
    """The estimator of that name."""
    return _ESTIMATORS[name]


def estimate_tokens_by_bytes(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


register_estimator("bytes_per_4", estimate_tokens_by_bytes)
