"""inspect-ai: ``Model.generate_loop`` over the provider for OpenAI-compatible servers."""

from __future__ import annotations

import asyncio

from inspect_ai.model import get_model
from inspect_ai.tool import Tool, tool

from benchmarks.conformance.peers import driving
from benchmarks.conformance.peers.driving import KEY, MODEL, PROMPT, Case, drive


@tool
def tide_at() -> Tool:
    """The tide."""

    async def execute(port: str) -> str:
        """When the tide is high at a port.

        Args:
            port: Name of the port.
        """
        return driving.tide_at(port)

    return execute


@tool
def clock() -> Tool:
    """The time."""

    async def execute() -> str:
        """The time at the harbour."""
        return driving.clock()

    return execute


@tool
def log_entry() -> Tool:
    """The log."""

    async def execute(title: str, text: str) -> str:
        """Write an entry into the harbour log.

        Args:
            title: Title of the entry.
            text: Text of the entry.
        """
        return driving.log_entry(title, text)

    return execute


@tool
def berth_plan() -> Tool:
    """The berths."""

    async def execute(ships: list[str], limits: dict[str, int]) -> str:
        """Plan the berths.

        Args:
            ships: Names of the ships.
            limits: Limits by name.
        """
        return driving.berth_plan(ships, limits)

    return execute


async def run(case: Case) -> str:
    """One run."""
    model = get_model(
        f"openai-api/conformance/{MODEL}",
        base_url=case.base_url,
        api_key=KEY,
        memoize=False,
        stream=case.stream,
    )
    tools = [tide_at(), clock(), log_entry(), berth_plan()]
    _, output = await model.generate_loop(PROMPT, tools=tools)
    return str(output.completion)


drive(lambda case: asyncio.run(run(case)))
