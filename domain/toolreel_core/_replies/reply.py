"""What is left of a reply once its shape is gone: the one form that the loop works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import NOTHING, JsonText
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.errors import Problem
from toolreel_core._replies.finish_reason import Finish
from toolreel_core._replies.usage import Served, Usage
from toolreel_core._replies.warnings import WarningCode

__all__ = ["Reply"]

_NO_USAGE: Final = Usage()
_NOBODY: Final = Served()


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, in the form that the loop works with."""

    calls: tuple[ToolCall, ...] = ()
    content: str = ""
    """The visible text, byte for byte; null and blank become empty."""
    reasoning: str = ""
    """The reasoning text, whichever field it came in."""
    finish: Finish = "unknown"
    problem: Problem | None = None
    warnings: tuple[WarningCode, ...] = ()
    """Code of every normalisation that was applied: nothing is mended silently."""
    usage: Usage = _NO_USAGE
    served: Served = _NOBODY
    carry: JsonText = NOTHING
    """The fields of the message that must go back unchanged, as one object."""
