"""What is left of a reply once its shape is gone: the one form that the loop works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel.calls import ToolCall
from toolreel.finish import Finish
from toolreel.jsontext import NOTHING, JsonText
from toolreel.provider_errors import Problem
from toolreel.usage import Served, Usage
from toolreel.warning_codes import WarningCode

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
