"""The limit of concurrent requests.

It is TCP's congestion avoidance (AIMD; Chiu and Jain 1989, RFC 5681): one more for each round of successful
requests, a fifth fewer for each episode of rate limiting, however many requests it hits. It does not grow
while the server fails (5xx).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
