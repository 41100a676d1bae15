"""The normalised reply: the one form that the loop works with, whatever the provider sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import NOTHING, JsonText
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.errors import Problem
from toolreel_core._replies.finish_reason import Finish
from toolreel_core._replies.usage import Served, Usage
from toolreel_core._replies.warnings import WarningCode

_NO_USAGE: Final = Usage()
_NOBODY: Final = Served()


@dataclass(frozen=True, slots=True)
class Reply:
    """One normalised reply of a model."""

    calls: tuple[ToolCall, ...] = ()
    content: str = ""
    """The visible text, unchanged; null and blank text become empty."""
    reasoning: str = ""
    """The reasoning text, from whichever field the provider uses."""
    finish: Finish = "unknown"
    problem: Problem | None = None
    warnings: tuple[WarningCode, ...] = ()
    """Code of every repair that was applied; nothing is repaired silently."""
    usage: Usage = _NO_USAGE
    served: Served = _NOBODY
    carry: JsonText = NOTHING
    """Opaque fields of the message (reasoning, signatures) to send back unchanged, as one JSON object."""
