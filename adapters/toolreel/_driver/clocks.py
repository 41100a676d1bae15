"""Clocks: real ones, and one for tests on which ten minutes pass at once."""

from __future__ import annotations

import time

from toolreel._errors import MissingExtra
from toolreel_core._protocol.effects import Wait
from toolreel_core._protocol.events import WaitElapsed

__all__ = ["AsyncSystemClock", "InstantClock", "SystemClock"]


class SystemClock:
    """Waits for real."""

    def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep."""
        time.sleep(effect.ms / 1000)
        return WaitElapsed(effect.ref)


class AsyncSystemClock:
    """The same as :class:`SystemClock`, awaited, on asyncio and trio."""

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep.

        :raises MissingExtra: if anyio is not installed
        """
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        await anyio.sleep(effect.ms / 1000)
        return WaitElapsed(effect.ref)


class InstantClock:
    """Waits for nothing, and remembers how long it should have."""

    def __init__(self) -> None:
        self.waited: list[int] = []

    def wait(self, effect: Wait) -> WaitElapsed:
        """Come back at once."""
        self.waited.append(effect.ms)
        return WaitElapsed(effect.ref)
