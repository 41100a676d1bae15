from __future__ import annotations

import anyio
import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, add
from toolreel._driver import AsyncPorts, ImmediateEndpoint, Ports, arun, run
from toolreel._journal import MemoryJournal, parse_journal
from toolreel.testing import ScriptedEndpoint
from toolreel.tools import AsyncPythonTools, PythonTools
from toolreel_core._protocol import Completed, RunTool, ToolReturned


@pytest.mark.anyio
async def test_every_driver_makes_the_same_run_and_the_same_journal() -> None:
    here, there = MemoryJournal(PLAN), MemoryJournal(PLAN)
    ended = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=here)
    ports = AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(SUM)), AsyncPythonTools([add]))
    assert await arun(PLAN, ports, journal=there) == ended
    assert there.text == here.text


@pytest.mark.anyio
async def test_runs_side_by_side_do_not_meet() -> None:
    outcomes: list[object] = []

    async def go() -> None:
        ports = AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(SUM)), AsyncPythonTools([add]))
        outcomes.append((await arun(PLAN, ports)).outcome)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(go)
    assert outcomes == [Completed("It is 42.")] * 20


@pytest.mark.anyio
async def test_a_task_that_is_cancelled_leaves_a_whole_journal() -> None:
    class Hanging:
        async def run(self, effect: RunTool) -> ToolReturned:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError(effect)

    journal = MemoryJournal(PLAN)
    with anyio.CancelScope() as scope:
        await arun(PLAN, AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(SUM)), Hanging()), journal=journal)
    assert scope.cancelled_caught
    assert [record.kind for record in parse_journal(journal.text).records] == ["send_request"]
