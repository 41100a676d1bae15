"""Noticing a model that goes in circles: the same call, again and again, with the same result."""

from __future__ import annotations

from dataclasses import replace

from toolreel.calls import ToolCall
from toolreel.digest import chain
from toolreel.envelope import Envelope
from toolreel.state import Memory, Streak

__all__ = ["remembered", "warned"]


def remembered(memory: Memory, call: ToolCall, result: Envelope) -> tuple[Memory, int]:
    """The memory with one more result, and how often in a row this call now had it."""
    key = chain("", call.name, call.arguments if isinstance(call.arguments, str) else call.original)
    said = chain("", result.text())
    before = memory.streaks.get(key)
    times = before.times + 1 if before is not None and before.result == said else 1
    called = memory.called if call.name in memory.last_ok else (*memory.called, call.name)
    return replace(
        memory,
        successes=memory.successes + result.ok,
        called=called,
        last_ok=memory.last_ok.set(call.name, result.ok),
        streaks=memory.streaks.set(key, Streak(said, times)),
    ), times


def warned(result: Envelope, times: int) -> Envelope:
    """The result with a warning for the model."""
    words = f"You have made this call {times} times in a row, always with this result. Do something else."
    return replace(result, warnings=(*result.warnings, words))
