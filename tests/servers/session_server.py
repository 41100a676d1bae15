"""A model of few words: it calls a tool until it has its results, and says each session's own word."""

from __future__ import annotations

import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}},
}


def session_app(turns: int) -> Starlette:
    """An upstream whose model calls ``look`` with the number of the turn, and answers after some of them.

    Every other call is text, so that there is something to repair. The ids are the same in all sessions.
    """
    return Starlette(routes=[Route("/v1/chat/completions", _answered(turns), methods=["POST"])])


def _answered(turns: int) -> Any:  # noqa: ANN401 - what starlette takes
    async def answer(request: Request) -> Response:
        body = await request.json()
        messages = body["messages"]
        word = messages[0]["content"]
        turn = sum(message["role"] == "tool" for message in messages)
        message = _message(word, turn, turns)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        if not body.get("stream"):
            return JSONResponse({"choices": [{"message": message, "finish_reason": finish}]})
        return Response(_events(message, finish), media_type="text/event-stream")

    return answer


def _message(word: str, turn: int, turns: int) -> dict[str, Any]:
    if turn == turns:
        return {"role": "assistant", "content": f"It was {word}."}
    if turn % 2:
        text = json.dumps({"name": "look", "arguments": {"at": turn}})
        return {"role": "assistant", "content": f"{word} <tool_call>{text}</tool_call>"}
    call = {"id": "call", "type": "function", "function": {"name": "look", "arguments": {"at": turn}}}
    return {"role": "assistant", "content": word, "tool_calls": [call]}


def _events(message: dict[str, Any], finish: str) -> str:
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in message["content"].split(" ")]
    deltas = [{"content": f"{' ' if at else ''}{each['content']}"} for at, each in enumerate(deltas)]
    if calls := message.get("tool_calls"):
        deltas.append({"tool_calls": [{"index": 0, **calls[0]}]})
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    frames = [f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices]
    return "".join([*frames, "data: [DONE]\n\n"])
