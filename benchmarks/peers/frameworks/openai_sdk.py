"""The openai SDK and a loop by hand, as its guide to function calling shows."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, contextmanager

from openai import AsyncOpenAI, OpenAI

from benchmarks.peers.task import KEY, MODEL, PROMPT, SCHEMA, TOOL, stock

FUNCTION = {"name": TOOL, "description": "How many of a part are left in a depot.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]


def answered(messages: list[object], completion: object) -> str | None:
    """Take a reply in and run its calls; the final text if there are none."""
    message = completion.choices[0].message
    messages.append(message)
    for call in message.tool_calls or ():
        result = stock(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return None if message.tool_calls else message.content


@contextmanager
def opened(base_url: str):  # noqa: ANN201
    """Runs one after another."""
    with OpenAI(base_url=base_url, api_key=KEY) as client:
        create = client.chat.completions.create

        def one() -> str:
            messages = [{"role": "user", "content": PROMPT}]
            while (text := answered(messages, create(model=MODEL, messages=messages, tools=TOOLS))) is None:
                pass
            return text

        yield one


@asynccontextmanager
async def aopened(base_url: str):  # noqa: ANN201
    """Runs in tasks, with one client."""
    async with AsyncOpenAI(base_url=base_url, api_key=KEY) as client:
        create = client.chat.completions.create

        async def one() -> str:
            messages = [{"role": "user", "content": PROMPT}]
            while (
                text := answered(messages, await create(model=MODEL, messages=messages, tools=TOOLS))
            ) is None:
                pass
            return text

        yield one
