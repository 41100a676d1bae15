from __future__ import annotations

import asyncio
import json

import pytest

from tests.adapters.driver.immediate import ImmediateEndpoint
from tests.patience import HANG
from toolreel import Plan
from toolreel._driver import AsyncPorts, arun
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools import AsyncPythonTools, tool
from toolreel_core._conversation import ToolMessage
from toolreel_core._jsontext import Json
from toolreel_core._protocol import Completed


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
