"""langchain: ``create_agent`` over ``ChatOpenAI``; its limit of steps is raised."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from benchmarks.peers.task import KEY, MODEL, PROMPT, stock

ASKED = {"messages": [{"role": "user", "content": PROMPT}]}
UNLIMITED = {"recursion_limit": 100_000}


def agent(base_url: str) -> object:
    """The agent for all runs."""
    return create_agent(ChatOpenAI(model=MODEL, base_url=base_url, api_key=KEY), tools=[stock])


@contextmanager
def opened(base_url: str):  # noqa: ANN201
    """Runs one after another."""
    made = agent(base_url)
    yield lambda: str(made.invoke(ASKED, UNLIMITED)["messages"][-1].text)


@asynccontextmanager
async def aopened(base_url: str):  # noqa: ANN201
    """Runs in tasks."""
    made = agent(base_url)

    async def one() -> str:
        return str((await made.ainvoke(ASKED, UNLIMITED))["messages"][-1].text)

    yield one
