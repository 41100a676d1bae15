"""openai-agents: an ``Agent`` and its ``Runner`` over ``OpenAIChatCompletionsModel``, tracing off."""

from __future__ import annotations

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive

set_tracing_disabled(True)
# Its strict schemas allow no object with free keys, which berth_plan has.
TOOLS = [function_tool(function, strict_mode=False) for function in FUNCTIONS]


async def run(case: Case) -> str:
    """One run."""
    client = AsyncOpenAI(base_url=case.base_url, api_key=KEY)
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
    agent = Agent(name="harbour", model=model, tools=list(TOOLS))
    if not case.stream:
        return str((await Runner.run(agent, PROMPT)).final_output)
    result = Runner.run_streamed(agent, PROMPT)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


drive(lambda case: asyncio.run(run(case)))
