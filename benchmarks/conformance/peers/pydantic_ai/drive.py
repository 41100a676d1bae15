"""pydantic-ai: an ``Agent`` with ``OpenAIChatModel``, as its documentation begins; nothing else is set."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive


async def streamed(agent: Agent) -> str:
    """The run as ``run_stream`` makes it."""
    async with agent.run_stream(PROMPT) as result:
        return str(await result.get_output())


def ask(case: Case) -> str:
    """One run."""
    provider = OpenAIProvider(base_url=case.base_url, api_key=KEY)
    agent = Agent(OpenAIChatModel(MODEL, provider=provider), tools=list(FUNCTIONS))
    if case.stream:
        return asyncio.run(streamed(agent))
    return str(agent.run_sync(PROMPT).output)


drive(ask)
