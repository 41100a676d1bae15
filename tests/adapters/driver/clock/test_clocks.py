from __future__ import annotations

import time

import pytest

from toolreel import AsyncPorts, LoopConfig, Plan, Ports, arun, run
from toolreel._driver import AsyncSystemClock, ImmediateEndpoint, SystemClock
from toolreel.testing import Lost, ScriptedEndpoint
from toolreel_core._protocol import BudgetSpent, Wait, WaitElapsed


def test_the_system_clock_lets_the_time_pass() -> None:
    before = time.monotonic()
    assert SystemClock().wait(Wait(3, 20)) == WaitElapsed(3)
    assert time.monotonic() - before >= 0.02


@pytest.mark.anyio
async def test_the_async_system_clock_lets_it_pass_too() -> None:
    before = time.monotonic()
    assert await AsyncSystemClock().wait(Wait(3, 20)) == WaitElapsed(3)
    assert time.monotonic() - before >= 0.02


IMPATIENT = Plan.of(
    model="m",
    messages="Hi!",
    config=LoopConfig(max_wall_ms=50, retry_base_ms=36 * 10**5, retry_cap_ms=36 * 10**5),
)
"""A run of 50 ms, which would wait for an hour before it tries again."""


def busy() -> ScriptedEndpoint:
    return ScriptedEndpoint([Lost("status", "later", 429)])


def assert_out_of_time(outcome: object) -> None:
    assert isinstance(outcome, BudgetSpent)
    assert (outcome.kind, outcome.used >= 50) == ("time", True)


def test_a_wait_is_over_when_the_time_of_the_run_is() -> None:
    assert_out_of_time(run(IMPATIENT, Ports(busy())).outcome)


@pytest.mark.anyio
async def test_an_async_wait_is_over_then_too() -> None:
    ports = AsyncPorts(ImmediateEndpoint(busy()))
    assert_out_of_time((await arun(IMPATIENT, ports)).outcome)
