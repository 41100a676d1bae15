"""The session that is measured: a question, one tool call a turn, and an answer in the last turn."""

from __future__ import annotations

import json

from benchmarks.servers.scripted import answer_body
from toolreel import LoopConfig, Plan
from toolreel_core import ReplyReceived, RunTool, SendRequest, ToolDefinition, ToolReturned
from toolreel_core._jsontext import Json, canonical

__all__ = ["PLAN", "RESULT", "TOOLS", "AsyncStock", "Scripted", "Stock"]

_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"part": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["part"],
    "additionalProperties": False,
}
RESULT: dict[str, Json] = {"part": "pin", "left": 41, "depot": "north"}
PLAN = Plan.of(
    model="m",
    messages="How many pins are in stock?",
    tools=[ToolDefinition.of("stock", "Look up a part.", _SCHEMA, polling=True)],
    config=LoopConfig(max_turns=10_000),
)
TOOLS = json.dumps(
    [
        {
            "type": "function",
            "function": {"name": "stock", "description": "Look up a part.", "parameters": _SCHEMA},
        }
    ],
    separators=(",", ":"),
)
"""The same tools, for loops written by hand."""

_ENVELOPE = canonical({"ok": True, "tool_name": "stock", "data": RESULT})


class Stock:
    """A tool that costs nothing."""

    def run(self, effect: RunTool) -> ToolReturned:
        """The same result every time."""
        return ToolReturned(effect.ref, _ENVELOPE)


class AsyncStock:
    """The same, awaited."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """The same result every time."""
        return ToolReturned(effect.ref, _ENVELOPE)


class Scripted:
    """The server's answers without a server: what is left is what the core itself costs."""

    def __init__(self, turns: int) -> None:
        self._answers = [answer_body(turn, turns).decode() for turn in range(turns)]
        self._at = 0

    def send(self, effect: SendRequest) -> ReplyReceived:
        """The next answer; the body is put together, as for any server."""
        b"".join(effect.request.pieces())
        self._at += 1
        return ReplyReceived(effect.ref, 200, self._answers[self._at - 1])


class AsyncScripted:
    """The same, awaited."""

    def __init__(self, turns: int) -> None:
        self._answers = Scripted(turns)

    async def send(self, effect: SendRequest) -> ReplyReceived:
        """The next answer."""
        return self._answers.send(effect)
