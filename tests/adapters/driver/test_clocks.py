from __future__ import annotations

import time

import pytest

from toolreel._driver.clocks import AsyncSystemClock, InstantClock, SystemClock
from toolreel._driver.sync_as_async import ImmediateClock
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


@pytest.mark.anyio
async def test_on_the_instant_clock_no_time_passes_and_all_of_it_is_remembered() -> None:
    clock = InstantClock()
    assert clock.wait(Wait(1, 600_000)) == WaitElapsed(1)
    assert await ImmediateClock(clock).wait(Wait(2, 7)) == WaitElapsed(2)
    assert clock.waited == [600_000, 7]
