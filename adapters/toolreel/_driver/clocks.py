"""Clocks to choose from: the system's, and one that never waits.

A wait is over when the run's time is: its event then has the time at which the core ends the run. What was
recorded with a longer wait stays as it is, since the effect is the same.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Final

from toolreel._internal import MissingExtra
from toolreel_core._protocol import (
    Wait,
    WaitElapsed,
)

_ENDS_AT: Final = ContextVar("toolreel_run_ends_at", default=inf)


def time_left() -> float:
    """Seconds until the run is over, at least 0; infinite if its time is not limited."""
    return max(0.0, _ENDS_AT.get() - time.monotonic())


@contextmanager
def ending_at(moment: float) -> Generator[None]:
    """Limit the time of what happens inside. A run inside a tool of another run ends with it at the latest.

    :param moment: on the clock of ``time.monotonic``
    """
    before = _ENDS_AT.set(min(moment, _ENDS_AT.get()))
    try:
        yield
    finally:
        _ENDS_AT.reset(before)


class SystemClock:
    """Sleeps, blocking the calling thread."""

    def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep for ``effect.ms`` milliseconds, or for what is left of ``max_wall_ms``."""
        time.sleep(min(effect.ms / 1000, time_left()))
        return WaitElapsed(effect.ref)


class AsyncSystemClock:
    """The async version of :class:`SystemClock`, for asyncio and trio."""

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep for ``effect.ms`` milliseconds, or for what is left of ``max_wall_ms``.

        :raises MissingExtra: if anyio is not installed
        """
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        await anyio.sleep(min(effect.ms / 1000, time_left()))
        return WaitElapsed(effect.ref)


class InstantClock:
    """Returns at once and lists the requested waits, in milliseconds, in ``waited``."""

    def __init__(self) -> None:
        self.waited: list[int] = []

    def wait(self, effect: Wait) -> WaitElapsed:
        """Return at once."""
        self.waited.append(effect.ms)
        return WaitElapsed(effect.ref)
