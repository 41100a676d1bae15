"""A run of the core alone, with two rejected calls in it; prints the digest of its last state.

The second violates its schema, which jsonschema says.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from toolreel_core import (
    Plan,
    ReplyReceived,
    RunTool,
    SendRequest,
    ToolDefinition,
    ToolReturned,
    ToolSurface,
    dump,
    load_state,
    pending,
    start,
    step,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}},
    "required": ["amount"],
}


def reply(**message: object) -> str:
    choice = {"message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]})


def call(number: int, arguments: str) -> str:
    function = {"name": "pay", "arguments": arguments}
    return reply(tool_calls=[{"id": f"call_{number}", "type": "function", "function": function}])


replies = [call(1, "much"), call(2, '{"amount": 0}'), call(3, '{"amount": 7}'), reply(content="Paid.")]
tools = ToolSurface((ToolDefinition.of("pay", "Pay.", SCHEMA),))
stored = dump(start(Plan.of(model="m", messages="Pay 7 euros.", tools=tools)).state)
paid = list[str]()
while effects := pending(state := load_state(stored)):
    match effects[0]:
        case SendRequest(ref=ref):
            stored = dump(step(state, ReplyReceived(ref, 200, replies.pop(0))).state)
        case RunTool(ref=ref, arguments=arguments):
            paid.append(arguments)
            stored = dump(step(state, ToolReturned(ref, '"paid"')).state)
        case other:
            raise SystemExit(f"unexpected: {other}")
sys.stdout.write(f"{state.outcome} {paid} {hashlib.sha256(stored.encode()).hexdigest()}\n")
