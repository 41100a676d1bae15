from __future__ import annotations

import time

import pytest

from toolreel._driver.clocks import AsyncSystemClock, SystemClock
from toolreel_core._protocol.effects import Wait
from toolreel_core._protocol.events import WaitElapsed


def test_the_system_clock_lets_the_time_pass() -> None:
    before = time.monotonic()
    assert SystemClock().wait(Wait(3, 20)) == WaitElapsed(3)
    assert time.monotonic() - before >= 0.02


@pytest.mark.anyio
async def test_the_async_system_clock_lets_it_pass_too() -> None:
    before = time.monotonic()
    assert await AsyncSystemClock().wait(Wait(3, 20)) == WaitElapsed(3)
    assert time.monotonic() - before >= 0.02
