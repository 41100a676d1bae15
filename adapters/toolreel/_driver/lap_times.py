"""Measures what the effects of a run take, for both drivers."""

from __future__ import annotations

import time
from collections.abc import Callable

from toolreel._driver.ports import Wanted
from toolreel._driver.timing import Lap, Timing, Took
from toolreel_core._protocol import Event


class LapTimes:
    """The times of what a driver performs, from its begin on.

    The clock is that of the ports if it tells the time (``now``, in seconds), else the system's. A performer
    that answers from a record has a method ``lap_of``: the recorded times of an effect that it has answered,
    or ``None`` if it was performed just now. Effects that run together are started and stopped in threads of
    their own, and taken by the driver, in its order.
    """

    def __init__(self, performer: object) -> None:
        self.now: Callable[[], float] = getattr(getattr(performer, "clock", None), "now", time.monotonic)
        """The time, in seconds."""
        self._retold: Callable[[Wanted], Lap | None] | None = getattr(performer, "lap_of", None)
        self._began = self.now()
        self._told = 0
        """The milliseconds since then that laps have told of."""
        self._ended: dict[int, tuple[float, float, float | None]] = {}
        self._took: list[Took] = []

    @property
    def timing(self) -> Timing:
        """The times so far."""
        return Timing(tuple(self._took))

    def stop(self, effect: Wanted, started: float, first: float | None = None) -> None:
        """Note that an effect has ended that was started then.

        :param first: when the first piece of its reply came
        """
        self._ended[effect.ref] = started, self.now(), first

    def take(self, effect: Wanted, event: Event, turn: int) -> Lap:
        """The times of an effect that has ended, of the event that came of it, in this turn."""
        started, ended, first = self._ended.pop(effect.ref)
        lap = None if self._retold is None else self._retold(effect)
        if lap is None:
            lap = Lap(
                _ms(ended - started), self._passed(ended), None if first is None else _ms(first - started)
            )
        else:  # what follows goes on from here: reading a record takes a run no time
            self._began, self._told = ended, 0
        self._took.append(Took.of(effect, event, lap, turn))
        return lap

    def rest(self) -> Lap:
        """The time since the last effect that ended: that of what is cancelled now."""
        passed = self._passed(self.now())
        return Lap(passed, passed)

    def _passed(self, now: float) -> int:
        passed = _ms(now - self._began) - self._told
        if passed < 0:  # of several that ran together, one that was done before the others
            return 0
        self._told += passed
        return passed


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
