"""Retries of whole runs.

A failed run is never retried, since that would inflate the pass rate. Retried are ``void`` runs, which say
nothing about the model, and runs that ended in an empty text, as the reference harness does. All attempts
are counted and recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from toolreel_core.evals._verdicts import Verdict

_LESS = 0.8
_EPISODE_MS = 5_000
"""Duration of a rate-limiting episode if the server sends no ``Retry-After``."""
_PAUSE_MS = 10_000
"""How long the limit does not grow after a server error."""


@dataclass(frozen=True, slots=True)
class ConcurrencyLimit:
    """The present limit; each method returns the next one. Times are milliseconds of one monotonic clock."""

    max_requests: int
    """Upper bound of concurrent requests."""
    limit: float
    """Concurrent requests allowed now; the integer part counts."""
    closed_until_ms: int = 0
    """When the next request may go out."""
    episode_until_ms: int = 0
    growth_from_ms: int = 0

    @classmethod
    def of(cls, max_requests: int) -> ConcurrencyLimit:
        """A limit that starts at its maximum."""
        return cls(max_requests, float(max_requests))

    def may_send(self, in_flight: int, now_ms: int) -> bool:
        """Whether one more request may go out.

        >>> ConcurrencyLimit.of(2).may_send(1, 0), ConcurrencyLimit.of(2).may_send(2, 0)
        (True, False)
        """
        return in_flight < int(self.limit) and now_ms >= self.closed_until_ms

    def succeeded(self, now_ms: int) -> ConcurrencyLimit:
        """After a response: the limit grows by one for each round of that many responses."""
        if now_ms < self.growth_from_ms:
            return self
        return replace(self, limit=min(float(self.max_requests), self.limit + 1 / self.limit))

    def rate_limited(self, now_ms: int, retry_after_ms: int | None) -> ConcurrencyLimit:
        """After a 429: a fifth less, once an episode, and nothing goes out before the server wants it.

        >>> once = ConcurrencyLimit.of(10).rate_limited(0, 2_000)
        >>> once.limit, once.rate_limited(1_000, None).limit, once.may_send(0, 1_999)
        (8.0, 8.0, False)
        """
        wanted = now_ms + (retry_after_ms or 0)
        closed = max(self.closed_until_ms, wanted)
        if now_ms < self.episode_until_ms:
            return replace(self, closed_until_ms=closed, episode_until_ms=max(self.episode_until_ms, closed))
        return replace(
            self,
            limit=max(1.0, self.limit * _LESS),
            closed_until_ms=closed,
            episode_until_ms=max(closed, now_ms + _EPISODE_MS),
        )

    def server_failed(self, now_ms: int) -> ConcurrencyLimit:
        """After a 5xx: it does not grow for a while."""
        return replace(self, growth_from_ms=now_ms + _PAUSE_MS)


_TRANSIENT: Final = frozenset(
    {
        "transport.rate_limit",
        "transport.timeout",
        "transport.connection",
        "transport.upstream_5xx",
        "transport.decode",
    }
)
"""Failures that may pass; a wrong key or an empty account does not."""

_SILENT: Final = ("task.outcome", "loop.no_tool_calls", "wire.empty_response")
"""Categories of a run that ended without a text and without another explanation."""

_BASE_MS: Final = 1_000
_CAP_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a run may still be retried."""

    empties: int = 1
    """After an empty final text."""
    voids: int = 3
    """After a failure of the provider."""


def remaining_retries(verdict: Verdict, final: str, retries: Retries) -> Retries | None:
    """The remaining retries if a run is retried; ``None`` if it is not.

    >>> remaining_retries(Verdict("fail", "wire.empty_response"), "", Retries())
    Retries(empties=0, voids=3)

    :param final: the final text, which is blank where the model said nothing
    """
    if verdict.result == "void":
        again = verdict.category in _TRANSIENT and retries.voids > 0
        return replace(retries, voids=retries.voids - 1) if again else None
    silent = not final.strip() and verdict.category.startswith(_SILENT)
    if verdict.result == "fail" and silent and retries.empties > 0:
        return replace(retries, empties=retries.empties - 1)
    return None


def retry_delay_ms(failures: int, retry_after_ms: int | None) -> int:
    """Milliseconds to wait before a retry: exponential backoff, at least ``Retry-After``, at most a minute.

    >>> retry_delay_ms(1, None), retry_delay_ms(2, None), retry_delay_ms(1, 30_000)
    (1000, 2000, 30000)

    """
    return min(_CAP_MS, max(_BASE_MS << (failures - 1), retry_after_ms or 0))
