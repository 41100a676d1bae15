"""pydantic-ai: an ``Agent`` with ``OpenAIChatModel``; its limit of requests, 50, is off."""

from __future__ import annotations

from contextlib import asynccontextmanager

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from benchmarks.peers.task import KEY, MODEL, PROMPT, stock

UNLIMITED = UsageLimits(request_limit=None)


@asynccontextmanager
async def aopened(base_url: str):  # noqa: ANN201
    """Runs in tasks, with one agent."""
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base_url, api_key=KEY))
    agent = Agent(model, tools=[stock])

    async def one() -> str:
        return str((await agent.run(PROMPT, usage_limits=UNLIMITED)).output)

    yield one
