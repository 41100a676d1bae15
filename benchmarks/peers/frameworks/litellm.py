"""litellm: it has no loop, so it is that of its page on function calling, until there are no calls."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager

import litellm

from benchmarks.peers.frameworks.openai_sdk import TOOLS, answered
from benchmarks.peers.task import KEY, MODEL, PROMPT


@contextmanager
def opened(base_url: str):  # noqa: ANN201
    """Runs one after another."""
    given = {"model": f"openai/{MODEL}", "api_base": base_url, "api_key": KEY, "tools": TOOLS}

    def one() -> str:
        messages = [{"role": "user", "content": PROMPT}]
        while (text := answered(messages, litellm.completion(messages=messages, **given))) is None:
            pass
        return text

    yield one


@asynccontextmanager
async def aopened(base_url: str):  # noqa: ANN201
    """Runs in tasks."""
    given = {"model": f"openai/{MODEL}", "api_base": base_url, "api_key": KEY, "tools": TOOLS}

    async def one() -> str:
        messages = [{"role": "user", "content": PROMPT}]
        while (text := answered(messages, await litellm.acompletion(messages=messages, **given))) is None:
            pass
        return text

    yield one
