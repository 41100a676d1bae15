"""smolagents: a ``ToolCallingAgent`` over ``OpenAIServerModel``, silent.

An agent holds its run, so each thread has one. It ends by its own tool final_answer, and knows no async
runs: those at once are threads.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import local

from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool

from benchmarks.peers.task import KEY, MODEL, PROMPT, stock

TOOLS = [tool(stock)]
MOST_STEPS = 100_000


@contextmanager
def opened(base_url: str):  # noqa: ANN201
    """Runs one after another, or in threads."""
    model = OpenAIServerModel(MODEL, api_base=base_url, api_key=KEY)

    agents = local()

    def one() -> str:
        if not hasattr(agents, "own"):
            agents.own = ToolCallingAgent(tools=list(TOOLS), model=model, verbosity_level=LogLevel.OFF)
        return str(agents.own.run(PROMPT, max_steps=MOST_STEPS))

    yield one
