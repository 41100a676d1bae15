"""openai-agents: an ``Agent`` and its ``Runner`` over ``OpenAIChatCompletionsModel``, tracing off."""

from __future__ import annotations

from contextlib import asynccontextmanager

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from benchmarks.peers.task import KEY, MODEL, PROMPT, stock

set_tracing_disabled(True)
TOOLS = [function_tool(stock)]
MOST_TURNS = 100_000


@asynccontextmanager
async def aopened(base_url: str):  # noqa: ANN201
    """Runs in tasks, with one agent."""
    async with AsyncOpenAI(base_url=base_url, api_key=KEY) as client:
        model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
        agent = Agent(name="depot", model=model, tools=TOOLS)

        async def one() -> str:
            return str((await Runner.run(agent, PROMPT, max_turns=MOST_TURNS)).final_output)

        yield one
