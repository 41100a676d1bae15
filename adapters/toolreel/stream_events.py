"""What ``stream``, ``astream`` and the streams of an agent yield."""

from toolreel._agent import AgentEvent
from toolreel._driver import (
    NoteMade,
    PartialOutput,
    ReasoningDelta,
    RunEnded,
    StreamEvent,
    TextDelta,
    TextWithdrawn,
    ToolCallDelta,
    ToolResult,
    ToolStarted,
)

__all__ = [
    "AgentEvent",
    "NoteMade",
    "PartialOutput",
    "ReasoningDelta",
    "RunEnded",
    "StreamEvent",
    "TextDelta",
    "TextWithdrawn",
    "ToolCallDelta",
    "ToolResult",
    "ToolStarted",
]
