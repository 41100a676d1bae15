"""The run of ``benchmarks/durable.py`` as pydantic-ai's DBOS wrapper makes it.

``pydantic_ai_dbos.py URL RUNS PARTS`` prints seconds of CPU and of the clock, as JSON. Requests are steps by
themselves, and the tool is declared one.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

from dbos import DBOS
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSAgent  # pyright: ignore[reportDeprecated] - of 2.68, which is measured
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

TOGETHER = 8


def main(url: str, runs: int, parts: int) -> None:
    """Measure."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if done < parts:
            return ModelResponse([ToolCallPart("order", {"run": "r", "part": done})])
        return ModelResponse([TextPart(f"{done} parts ordered.")])

    DBOS(config={"name": "peer", "system_database_url": url, "log_level": "ERROR"})
    agent = Agent(FunctionModel(answer), name="shop")

    @agent.tool_plain
    @DBOS.step()
    async def order(run: str, part: int) -> str:
        """Order a part."""
        return f"ordered {run} {part}"

    durable = DBOSAgent(agent)  # pyright: ignore[reportDeprecated]
    DBOS.launch()

    async def perform() -> None:
        free = asyncio.Semaphore(TOGETHER)

        async def one(number: int) -> None:
            async with free:
                result = await durable.run(f"r{number} orders {parts}")
                if result.output != f"{parts} parts ordered.":
                    raise SystemExit(f"unexpected: {result.output!r}")

        await asyncio.gather(*map(one, range(runs)))

    asyncio.run(perform())  # the first runs load what later ones have
    before, began = _cpu_seconds(), time.monotonic()
    asyncio.run(perform())
    sys.stdout.write(json.dumps({"cpu": _cpu_seconds() - before, "seconds": time.monotonic() - began}))
    sys.stdout.flush()
    DBOS.destroy()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
