"""The place of a request in the queue for its account: what is asked of the ledger, and how long to pause.

A request that may not start in the time that its run has left, or that the limits let it wait, is answered
like one that the provider itself refuses: with status 429 and a Retry-After that nobody waits for, or with
402 if the money is spent. So the run ends, or goes on at a fallback, as it would anyway.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from toolreel._driver import time_left
from toolreel.durable._limits.ledger import Granted, Ledger, Queued, Refused, TicketLost, Turn
from toolreel.durable._limits.limits import Limits
from toolreel_core._protocol import RequestFailed, SendRequest

_POLL: Final = 0.25
"""Seconds at most between two attempts of a request that is not the next."""
_POLL_NEXT: Final = 1.0
"""The same for the next one, which knows when it may start."""
_SHORTEST: Final = 0.005
_NO_RETRY_MS: Final = 10**12
"""A Retry-After above any ``retry_cap_ms``: what has waited as long as it may is not tried again."""


Asking: TypeAlias = Generator[Callable[[], Turn] | float, Turn | None, int | RequestFailed]
"""Yields attempts to perform, whose turn is to be sent, and seconds to pause."""


def turn_of(ledger: Ledger, effect: SendRequest) -> Asking:
    """Ask until a request may start at once; returns its ticket, or its refusal.

    Closing it before its end gives the ticket up. It joins the queue without a thread: a ticket
    that a cancelled task never got to know could not be given up.
    """
    estimate = ledger.limits.estimate(effect)
    place = _Place.of(ledger.limits, effect, ledger.join(estimate))
    granted = waited = False
    try:
        while True:
            since = time.monotonic()
            turn = yield partial(ledger.attempt, place.ticket)
            match turn:
                case Granted():
                    if not place.is_late(since):
                        granted = True
                        return place.ticket
                    ledger.give_back(place.ticket)
                case Queued():
                    pause = place.after(turn)
                    if isinstance(pause, RequestFailed):
                        return pause
                    waited = True
                    yield pause
                case Refused():
                    return place.refused(turn.why)
                case TicketLost():
                    place.ticket = ledger.join(estimate)
                case None:
                    raise AssertionError("an attempt is answered with a turn")
                case _:
                    assert_never(turn)
    finally:
        if waited:
            ledger.waits.add(time.monotonic() - place.began)
        if not granted:
            ledger.leave(place.ticket)


@dataclass(slots=True)
class _Place:
    """The place of one request in the queue."""

    limits: Limits
    effect: SendRequest
    ticket: int
    began: float
    allowed: float
    """Seconds that it may wait."""

    @classmethod
    def of(cls, limits: Limits, effect: SendRequest, ticket: int) -> _Place:
        own = math.inf if limits.max_wait is None else limits.max_wait
        return cls(limits, effect, ticket, time.monotonic(), min(own, time_left()))

    def after(self, turn: Queued) -> float | RequestFailed:
        """Seconds until the next attempt, or the refusal if the turn would come too late."""
        left = self.allowed - (time.monotonic() - self.began)
        if turn.seconds >= left:
            return self._too_late(turn.seconds, max(0.0, left))
        longest = _POLL_NEXT if turn.is_next else min(_POLL, self.limits.window / 50)
        return min(max(turn.seconds, _SHORTEST) if turn.is_next else longest, longest, left)

    def is_late(self, since: float) -> bool:
        """Whether too much time has passed since a turn was asked for, on the clock of this process."""
        return time.monotonic() - since > self.limits.slack / 2

    def refused(self, why: str) -> RequestFailed:
        return RequestFailed(self.effect.ref, "status", why, 402)

    def _too_late(self, seconds: float, left: float) -> RequestFailed:
        limits = self.limits
        why = (
            f"the account {limits.account!r} is at its limits for {seconds:.1f} s or more, and the request "
            f"may wait {left:.1f} s"
        )
        return RequestFailed(self.effect.ref, "status", why, 429, "", _NO_RETRY_MS)
