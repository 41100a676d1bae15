"""What every contestant is given: one question, and one tool.

Only the standard library is used, since contestants run in environments of their own.
"""

from __future__ import annotations

import json

__all__ = ["CUT", "DONE", "KEY", "MODEL", "PROMPT", "SCHEMA", "TOOL", "arguments", "executions", "stock"]

MODEL = "m"
KEY = "sk-benchmark"
PROMPT = "Count what is left of each part in the depots, one part after another, and say when you are done."
DONE = "All parts have been counted."
CUT = "The time is over."
"""What the server says where it ends a run before its last turn."""
TOOL = "stock"

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"part": {"type": "string"}, "depot": {"type": "string"}},
    "required": ["part", "depot"],
    "additionalProperties": False,
}

_executions = 0


def arguments(turn: int) -> dict[str, str]:
    """What the model gives the tool in that turn; never the same twice, so that no loop seems stuck."""
    return {"part": f"pin, M{turn}", "depot": "north"}


def stock(part: str, depot: str) -> str:
    """How many of a part are left in a depot.

    Args:
        part: Name of the part.
        depot: Name of the depot.
    """
    global _executions  # noqa: PLW0603 - counting must cost next to nothing
    _executions += 1
    shelves = [{"shelf": "A4", "left": 17}, {"shelf": "B2", "left": 24}]
    return json.dumps({"part": part, "depot": depot, "left": 41, "shelves": shelves, "counted": "2026-11-02"})


def executions() -> int:
    """How often the tool has run in this process."""
    return _executions
