from __future__ import annotations

import asyncio
import json

import anyio
import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.patience import HANG
from toolreel import Plan
from toolreel._driver import AsyncPorts, ImmediateEndpoint, Ports, arun, run
from toolreel._journal import MemoryJournal, parse_journal
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools import AsyncPythonTools, PythonTools, tool
from toolreel_core._conversation import ToolMessage
from toolreel_core._jsontext import Json
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


def test_a_tool_that_lets_out_its_own_cancellation_has_failed_and_the_other_call_is_kept() -> None:
    @tool(read_only=True)
    async def cancels() -> str:
        inner = asyncio.create_task(asyncio.sleep(HANG))
        inner.cancel()
        await inner
        return "never"

    @tool(read_only=True)
    async def waits() -> str:
        await asyncio.sleep(0)
        return "waited"

    tools = AsyncPythonTools([cancels, waits])
    together: list[list[tuple[str, dict[str, Json]]]] = [
        [("cancels", {})],
        [("cancels", {}), ("waits", {})],
    ]
    for calls in together:
        replies = ImmediateEndpoint(ScriptedEndpoint([calling(*calls), saying("Done.")]))
        plan = Plan.of(model="m", messages="Go!", tools=tools.surface)
        ended = asyncio.run(arun(plan, AsyncPorts(replies, tools)))
        assert ended.outcome == Completed("Done.")
        results = [json.loads(each.content) for each in ended.messages if isinstance(each, ToolMessage)]
        assert [result["ok"] for result in results] == [False, True][: len(calls)], results


async def _cancelled_beside(tools: AsyncPythonTools) -> None:
    replies = ImmediateEndpoint(ScriptedEndpoint([calling(("hangs", {}), ("hangs", {})), saying("Done.")]))
    plan = Plan.of(model="m", messages="Go!", tools=tools.surface)
    running = asyncio.create_task(arun(plan, AsyncPorts(replies, tools)))
    await asyncio.sleep(0.05)
    running.cancel()
    await running


def test_a_cancellation_from_outside_still_ends_the_run() -> None:
    @tool(read_only=True)
    async def hangs() -> None:
        await asyncio.sleep(HANG)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(_cancelled_beside(AsyncPythonTools([hangs])))
