"""An endpoint that waits its turn: requests of all threads to one provider share a limiter."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition

from toolreel._driver.ports import Endpoint
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core.evals._records.concurrency import Limiter

__all__ = ["Limited", "Limits", "SharedLimit"]

_RATE_LIMITED = 429
_SERVER_ERRORS = range(500, 600)


class SharedLimit:
    """One limiter in use by many threads.

    :param most: requests that may be under way at once
    :param now: a clock that never goes back, in seconds
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._limiter = Limiter.of(most)
        self._under_way = 0
        self._now = now
        self._free = Condition()

    def enter(self) -> None:
        """Wait until one more request may go out."""
        with self._free:
            while not self._limiter.may_send(self._under_way, self._ms()):
                closed = self._limiter.closed_until_ms - self._ms()
                self._free.wait(closed / 1000 if closed > 0 else None)
            self._under_way += 1

    def leave(self, event: ReplyReceived | RequestFailed | None) -> None:
        """Hear what came of it; ``None``: nobody knows."""
        with self._free:
            self._under_way -= 1
            self._limiter = _after(self._limiter, event, self._ms())
            self._free.notify_all()

    def _ms(self) -> int:
        return int(self._now() * 1000)


class Limits:
    """The limits of an evaluation: one for each model, since routers limit each model by itself.

    :param most: requests to one model that may be under way at once
    :param now: a clock that never goes back, in seconds
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._now = now
        self._by_model: dict[str, SharedLimit] = {}

    def of(self, model: str) -> SharedLimit:
        """The limit that all requests to a model share."""
        return self._by_model.setdefault(model, SharedLimit(self._most, self._now))


class Limited:
    """Passes requests on when their turn has come."""

    def __init__(self, endpoint: Endpoint, limit: SharedLimit) -> None:
        self._endpoint = endpoint
        self._limit = limit

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait, send the request, and tell the limiter what came of it."""
        self._limit.enter()
        event: ReplyReceived | RequestFailed | None = None
        try:
            event = self._endpoint.send(effect)
            return event
        finally:
            self._limit.leave(event)


def _after(limiter: Limiter, event: ReplyReceived | RequestFailed | None, now_ms: int) -> Limiter:
    if isinstance(event, ReplyReceived):
        return limiter.went_well(now_ms)
    if event is None or event.status is None:
        return limiter
    if event.status == _RATE_LIMITED:
        return limiter.refused(now_ms, event.retry_after_ms)
    return limiter.server_failed(now_ms) if event.status in _SERVER_ERRORS else limiter
