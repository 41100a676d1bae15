"""What a tool took of models: an inner agent, or a tool that asks a model itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final

from toolreel_core._errors import ConfigError


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and cost of the replies that a tool call got from models.

    >>> Spent(prompt_tokens=900, completion_tokens=40, cost=0.25).replies
    1

    Without a cost, the cost is unknown, and so is that of the run: it is never taken for 0.

    :raises ConfigError: if a number is negative or not finite
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """The costs that are known, in the currency of the run; ``None`` if none is."""
    cached_tokens: int = 0
    """Those of :attr:`prompt_tokens` that came from the provider's cache."""
    reasoning_tokens: int = 0
    """Those of :attr:`completion_tokens` that were spent on reasoning."""
    prompt_audio_tokens: int = 0
    completion_audio_tokens: int = 0
    priced: int = 0
    """Replies with a known cost; at least 1 if there is a cost."""
    unpriced: int = 0
    """Replies whose cost nobody knows; at least 1 if there is no cost."""
    currency: str = ""
    """That of the cost, such as ``"EUR"``; empty if nobody said. A cost in another currency than that of the
    run's price is unknown to the run."""

    def __post_init__(self) -> None:
        cost = None if self.cost is None else _check_amount("cost", self.cost, (int, float))
        for name in _COUNTS:
            _check_amount(name, getattr(self, name), (int,))
        # 1 and 1.0 must be the same event, byte for byte.
        object.__setattr__(self, "cost", None if cost is None else float(cost))
        least = "unpriced" if cost is None else "priced"
        object.__setattr__(self, least, max(1, getattr(self, least)))

    @property
    def replies(self) -> int:
        """The replies that were counted."""
        return self.priced + self.unpriced

    @property
    def known_cost(self) -> float | None:
        """The cost of all replies; ``None`` if that of one is unknown."""
        return None if self.unpriced else self.cost

    def plus(self, other: Spent) -> Spent:
        """Both together.

        >>> Spent(cost=0.5).plus(Spent(cost=0.25)).known_cost
        0.75
        """
        currency = self.currency if self.currency == other.currency else ""
        return Spent(
            cost=None if self.cost is other.cost is None else (self.cost or 0.0) + (other.cost or 0.0),
            currency=currency,
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTS},
        )

    def minus(self, part: Spent) -> Spent | None:
        """What remains without a part of it; ``None`` if nothing does."""
        counts = {name: getattr(self, name) - getattr(part, name) for name in _COUNTS}
        if not counts["priced"] + counts["unpriced"]:
            return None
        cost = (self.cost or 0.0) - (part.cost or 0.0) if counts["priced"] else None
        return Spent(cost=cost, currency=self.currency, **counts)

    def in_currency(self, currency: str) -> Spent:
        """The same, counted in a currency: a cost in another one is unknown."""
        if self.cost is None or self.currency in {"", currency}:
            return self
        counts = {name: getattr(self, name) for name in _COUNTS}
        return Spent(**{**counts, "priced": 0, "unpriced": self.replies})


_COUNTS: Final = tuple(field.name for field in fields(Spent) if field.name not in {"cost", "currency"})


def _check_amount(name: str, value: float, kinds: tuple[type, ...]) -> float:
    if type(value) not in kinds or not 0 <= value < math.inf:
        raise ConfigError(f"Spent.{name}: expected a number of at least 0, got {value!r}")
    return value
