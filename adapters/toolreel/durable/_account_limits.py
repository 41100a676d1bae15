"""What an account at a provider allows, and what a request is expected to take of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText, as_tree, parse
from toolreel_core._protocol import SendRequest
from toolreel_core._settings import Price

_BYTES_PER_TOKEN: Final = 4
_CAPS: Final = ("max_completion_tokens", "max_tokens")
MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one account at a provider, kept by all processes that name the same database and account.

    :raises ConfigError: if a limit is no positive number, or there is none
    """

    account: str
    """Names the account; processes that share it name it alike."""
    database: str | Path = field(repr=False)
    """A SQLite file, or the URL of a PostgreSQL database, which may hold a password."""
    requests: int | None = None
    """Requests that may start in any window."""
    tokens: int | None = None
    """Tokens that requests which start in any window may take: estimated at first, then as counted."""
    window: float = MINUTE
    """Seconds of a window."""
    max_cost: float | None = None
    """What the account may spend in all; a request that might pass it is refused with status 402."""
    price: Price | None = None
    """What the account pays, where replies do not say what they cost."""
    reply_tokens: int = 1_000
    """Tokens to reserve for a reply where the request does not limit it."""
    max_wait: float | None = None
    """Seconds to wait for a turn; then the request is refused with status 429. The run's own limit of time
    holds anyway."""
    slack: float = 1.0
    """Seconds that may pass between a turn and the request; each window is longer by them, so that the limits
    are exact for the requests themselves."""

    def __post_init__(self) -> None:
        if not self.account.strip():
            raise ConfigError("account: expected a name for the account, got an empty text")
        for key in ("requests", "tokens", "window", "max_cost", "max_wait", "slack", "reply_tokens"):
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not 0 < value < math.inf):
                raise ConfigError(f"{key}: expected a number above 0, got {value!r}")
        if self.requests is None and self.tokens is None and self.max_cost is None:
            raise ConfigError(f"limits of {self.account!r}: write requests=, tokens= or max_cost=")

    @property
    def span(self) -> float:
        """Seconds for which a turn counts."""
        return self.window + self.slack

    def estimate(self, effect: SendRequest) -> Estimate:
        """What a request is expected to take."""
        request = effect.request
        prompt = sum(map(len, request.pieces())) // _BYTES_PER_TOKEN + 1
        reply = _cap(request.options.text) or self.reply_tokens
        return Estimate(prompt + reply, 0.0 if self.price is None else self.price.cost(prompt, reply))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a request is expected to take."""

    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Started:
    """A request that counts in the present window."""

    at: float
    tokens: int


def seconds_to_wait(started: Sequence[Started], now: float, own_tokens: int, limits: Limits) -> float:
    """Seconds until one more request of this many tokens may start; 0 if it may now.

    >>> limits = Limits("a", "a.sqlite", requests=2, slack=1)
    >>> seconds_to_wait([Started(100.0, 5), Started(120.0, 5)], 130.0, 5, limits)
    31.0

    :param started: in the order of their starts
    """
    count, tokens, free_at = len(started), sum(each.tokens for each in started), now
    for each in started:
        fits = limits.requests is None or count < limits.requests
        if fits and (limits.tokens is None or tokens + own_tokens <= limits.tokens):
            break
        count, tokens, free_at = count - 1, tokens - each.tokens, each.at + limits.span
    return max(0.0, free_at - now)


def _cap(options: str) -> int | None:
    tree = as_tree(parse(JsonText(options)))
    caps = (tree.get(key) for key in _CAPS)
    return next((cap for cap in caps if isinstance(cap, int) and not isinstance(cap, bool) and cap > 0), None)
