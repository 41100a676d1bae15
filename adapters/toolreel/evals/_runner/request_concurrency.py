"""Limits of the requests to a model that are under way at once, shared by all runs of an evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition

from toolreel._driver.ports import Endpoint
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core.evals._runner.concurrency_limit import ConcurrencyLimit

_RATE_LIMITED = 429
_SERVER_ERRORS = range(500, 600)


class SharedLimit:
    """One limiter in use by many threads.

    :param max_requests: requests that may be under way at once
    """

    def __init__(self, max_requests: int, now: Callable[[], float] = time.monotonic) -> None:
        self._limit_now = ConcurrencyLimit.of(max_requests)
        self._under_way = 0
        self._now = now
        self._free = Condition()

    def enter(self) -> None:
        """Wait until one more request may go out."""
        with self._free:
            while not self._limit_now.may_send(self._under_way, self._ms()):
                closed = self._limit_now.closed_until_ms - self._ms()
                self._free.wait(closed / 1000 if closed > 0 else None)
            self._under_way += 1

    def leave(self, event: ReplyReceived | RequestFailed | None) -> None:
        """Adapt the limit to an answer; ``None`` if there is none."""
        with self._free:
            self._under_way -= 1
            self._limit_now = _after(self._limit_now, event, self._ms())
            self._free.notify_all()

    def _ms(self) -> int:
        return int(self._now() * 1000)


class ModelLimits:
    """The limits of an evaluation: one for each model, since routers limit each model separately.

    :param max_requests: requests to one model that may be under way at once
    :param now: a clock that never goes back, in seconds
    """

    def __init__(self, max_requests: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most = max_requests
        self._now = now
        self._by_model: dict[str, SharedLimit] = {}

    def of(self, model: str) -> SharedLimit:
        """The limit that all requests to a model share."""
        return self._by_model.setdefault(model, SharedLimit(self._most, self._now))


class RateLimitedEndpoint:
    """Passes requests on as the limit allows."""

    def __init__(self, endpoint: Endpoint, limit: SharedLimit) -> None:
        self._endpoint = endpoint
        self._limit = limit

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait, send the request, and adapt the limit to its answer."""
        self._limit.enter()
        event: ReplyReceived | RequestFailed | None = None
        try:
            event = self._endpoint.send(effect)
            return event
        finally:
            self._limit.leave(event)


def _after(
    limit_now: ConcurrencyLimit, event: ReplyReceived | RequestFailed | None, now_ms: int
) -> ConcurrencyLimit:
    if isinstance(event, ReplyReceived):
        return limit_now.succeeded(now_ms)
    if event is None or event.status is None:
        return limit_now
    if event.status == _RATE_LIMITED:
        return limit_now.rate_limited(now_ms, event.retry_after_ms)
    return limit_now.server_failed(now_ms) if event.status in _SERVER_ERRORS else limit_now
