"""Clocks to choose from: the system's, and one that never waits.

A wait is over when the run's time is: its event then has the time at which the core ends the run. What was
recorded with a longer wait stays as it is, since the effect is the same.
"""

from __future__ import annotations

import time

from toolreel._driver.clock.time_left import time_left
from toolreel._internal import MissingExtra
from toolreel_core._protocol import (
    Wait,
    WaitElapsed,
)


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
