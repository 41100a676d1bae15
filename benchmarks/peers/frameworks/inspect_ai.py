"""inspect-ai: ``Model.generate_loop`` over the provider for OpenAI-compatible servers.

Its limit of requests at the same time, 10, is raised.
"""

from __future__ import annotations

from contextlib import asynccontextmanager

from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.tool import Tool, tool

from benchmarks.peers import task
from benchmarks.peers.task import KEY, MODEL, PROMPT


@tool
def stock() -> Tool:
    """The depots."""

    async def execute(part: str, depot: str) -> str:
        """How many of a part are left in a depot.

        Args:
            part: Name of the part.
            depot: Name of the depot.
        """
        return task.stock(part, depot)

    return execute


@asynccontextmanager
async def aopened(base_url: str):  # noqa: ANN201
    """Runs in tasks, with one model."""
    config = GenerateConfig(max_connections=1_000)
    model = get_model(
        f"openai-api/benchmark/{MODEL}", base_url=base_url, api_key=KEY, memoize=False, config=config
    )

    async def one() -> str:
        _, output = await model.generate_loop(PROMPT, tools=[stock()])
        return str(output.completion)

    async with model:
        yield one
