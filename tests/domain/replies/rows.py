"""Replies as rows of ``tests/corpora/replies.jsonl``, and what is read in them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from toolreel_core._jsontext import NOTHING, Json, canonical
from toolreel_core._replies import (
    ArgumentError,
    Delta,
    Problem,
    Reply,
    ToolCall,
    as_chat,
    deltas_in,
    normalize_reply,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface

NAMES = ("add", "ping", "stock_lookup", "files.read", "multi-part")
TOOLS = ToolSurface(tuple(map(ToolDefinition.of, NAMES)))


def body_of_row(row: dict[str, Any]) -> Json:
    """The body that a row is about: whole, with this message alone, or put together from these deltas."""
    if "body" in row:
        body: Json = row["body"]
    elif "deltas" in row:
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in row["deltas"]]
        frames = "".join(f"data: {canonical(chunk)}\n\n" for chunk in chunks)
        body = as_chat(f"{frames}data: [DONE]\n\n").body
    else:
        body = {"choices": [{"message": row["message"], "finish_reason": row.get("finish", "stop")}]}
    return body


def reply_of_row(row: dict[str, Any]) -> dict[str, Json]:
    """What is read in the body of a row, less what is empty; of a stream, also what is shown at once."""
    config = LoopConfig.of(row.get("config", {}))
    if "frames" not in row:
        earlier = row.get("earlier", ())
        reply = normalize_reply(body_of_row(row), tools=TOOLS, config=config, turn=3, earlier=earlier)
        return {key: value for key, value in _in_words(reply).items() if value}
    form, frames = row.get("form", "chat_completions"), row["frames"]
    text = "".join(frame if isinstance(frame, str) else f"data: {canonical(frame)}\n\n" for frame in frames)
    sent, shown = as_chat(text, form), deltas_in(text, form, whole=True)
    reply = normalize_reply(sent.body, tools=TOOLS, config=config, turn=3)
    words = {"lost": " ".join(sent.codes), **_in_words(reply), "shown": [_delta(delta) for delta in shown]}
    return {key: value for key, value in words.items() if value}


def _in_words(reply: Reply) -> dict[str, Json]:
    problem = reply.problem
    return {
        "calls": [_call(call) for call in reply.calls],
        "content": reply.content,
        "reasoning": reply.reasoning,
        "finish": reply.finish if reply.finish != "stop" else "",
        "problem": _problem(problem) if problem else "",
        "warnings": " ".join(reply.warnings),
        "usage": {name: count for name, count in asdict(reply.usage).items() if count},
        "served": {name: text for name, text in asdict(reply.served).items() if text},
        "carry": "" if reply.carry is NOTHING else reply.carry,
    }


def _problem(problem: Problem) -> str:
    return f"{problem.code}{' (passing)' * problem.passing}: {problem.detail}"


def _call(call: ToolCall) -> str:
    """Id, name and arguments of a call; where it is not a plain one, its provenance and what goes back."""
    arguments = call.arguments
    parts = [
        call.id,
        call.name,
        f"{arguments.code}: {arguments.detail}" if isinstance(arguments, ArgumentError) else arguments,
    ]
    parts += [call.provenance] if call.provenance != "structured" else []
    parts += [call.carry] if call.carry is not NOTHING else []
    return " ".join(parts)


def _delta(delta: Delta) -> str:
    """What is shown at once; of a call, also which one it is."""
    place = f" {delta.index} {delta.call_id} {delta.name}".rstrip() if delta.kind == "tool_call" else ""
    return f"{delta.kind}{place}: {delta.text}"
