"""Stands for a model's server: it orders when it is asked to, and else counts until nobody listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response, StreamingResponse

from toolreel.testing import calling, streaming

app = FastAPI()


@app.post("/v1/chat/completions", response_model=None)
async def complete(request: dict[str, Any]) -> Response:
    """Answer the last message."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return StreamingResponse(iter([streaming("It is ", "done.")]), media_type="text/event-stream")
    if "order" in last["content"]:
        return JSONResponse(calling(("order", {"part": "pin", "count": 4})))
    return StreamingResponse(_counted(), media_type="text/event-stream")


async def _counted() -> AsyncIterator[str]:
    number = 0
    while True:
        number += 1
        yield streaming(f"{number} ", finish="")
        await asyncio.sleep(0.02)
