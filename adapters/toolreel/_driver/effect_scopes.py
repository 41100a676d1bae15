"""What surrounds the effects of a run while they are performed: its limit of time, and its watchers."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from math import inf
from typing import Final

from toolreel._driver.performer import ending_at
from toolreel._driver.ports import Wanted
from toolreel._driver.watch import Watches
from toolreel_core._protocol import CancelRequested, Event, RunStarted, State, UserSpoke

_NOTHING: Final = nullcontext()


class EffectScopes:
    """Puts the time on events, tells the ports what is left of it, and lets watchers surround effects.

    The core has no clock: time reaches it only on events, so that a replay makes the same decisions. A run
    whose plan does not limit its time has none on its events.

    :param state: where the run begins, or goes on with its time so far
    """

    def __init__(self, state: State, watches: Watches | None) -> None:
        self._watches = watches if watches is not None and watches.scoped else None
        self._is_limited = state.plan.config.max_wall_ms is not None
        self._started = time.monotonic() - state.tally.at_ms / 1000
        self._ends_at = inf
        self.renew(state)

    def renew(self, state: State) -> None:
        """Take the limit of the present exchange, which may have begun since the last effect."""
        if (limit := state.plan.config.max_wall_ms) is not None:
            self._ends_at = self._started + (state.exchange_began.at_ms + limit) / 1000

    def around(self, effect: Wanted) -> AbstractContextManager[object]:
        """The scope in which an effect is performed, or the next piece of a reply is read."""
        return self._scope(effect) if self._is_limited or self._watches else _NOTHING

    @contextmanager
    def _scope(self, effect: Wanted) -> Generator[None]:
        with ending_at(self._ends_at), self._watches.performing(effect) if self._watches else _NOTHING:
            yield

    def began_to_arrive(self, effect: Wanted) -> None:
        """The first piece of a streamed reply is there."""
        if self._watches is not None:
            self._watches.began_to_arrive(effect)

    def answered(self, effect: Wanted, event: Event | None) -> Event | None:
        """The event that came of an effect, with the milliseconds since the run began."""
        if self._watches is not None:
            self._watches.performed(effect)
        # An event that has a time comes from a recording, and keeps it.
        if (
            not self._is_limited
            or event is None
            or isinstance(event, (RunStarted, CancelRequested, UserSpoke))
            or event.at_ms is not None
        ):
            return event
        return replace(event, at_ms=round((time.monotonic() - self._started) * 1000))
