"""How many requests may be under way at once: more while all goes well, fewer when the provider says so.

Additive increase, multiplicative decrease, as TCP has it: one more for each round of requests that went
well, a fifth fewer for each episode of rate limiting, however many requests it hits. While servers fail
(5xx), nothing grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Limiter"]

_LESS = 0.8
_EPISODE_MS = 5_000
"""How long refusals belong to one episode if the server does not say."""
_PAUSE_MS = 10_000
"""How long nothing grows after a server failed."""


@dataclass(frozen=True, slots=True)
class Limiter:
    """The limit as it stands; every method gives the next one. Times are milliseconds of any one clock."""

    most: int
    """Requests under way that it never goes beyond."""
    limit: float
    """Requests that may be under way; its whole part counts."""
    closed_until_ms: int = 0
    """When the next request may go out."""
    episode_until_ms: int = 0
    growth_from_ms: int = 0

    @classmethod
    def of(cls, most: int) -> Limiter:
        """A limiter that begins wide open."""
        return cls(most, float(most))

    def may_send(self, under_way: int, now_ms: int) -> bool:
        """Whether one more request may go out.

        >>> Limiter.of(2).may_send(1, 0), Limiter.of(2).may_send(2, 0)
        (True, False)
        """
        return under_way < int(self.limit) and now_ms >= self.closed_until_ms

    def went_well(self, now_ms: int) -> Limiter:
        """After an answer: it grows by one for each round of that many answers."""
        if now_ms < self.growth_from_ms:
            return self
        return replace(self, limit=min(float(self.most), self.limit + 1 / self.limit))

    def refused(self, now_ms: int, retry_after_ms: int | None) -> Limiter:
        """After a 429: a fifth less, once an episode, and nothing goes out before the server wants it.

        >>> once = Limiter.of(10).refused(0, 2_000)
        >>> once.limit, once.refused(1_000, None).limit, once.may_send(0, 1_999)
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

    def server_failed(self, now_ms: int) -> Limiter:
        """After a 5xx: it does not grow for a while."""
        return replace(self, growth_from_ms=now_ms + _PAUSE_MS)
