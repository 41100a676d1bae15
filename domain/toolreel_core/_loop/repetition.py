"""Noticing a model that goes in circles: the same call, again and again, with the same result."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._internal.frozen import maker
from toolreel_core._jsontext.digest import chain, digest, known_chain, link
from toolreel_core._protocol.state import Memory, Streak
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._tools.result import Envelope

__all__ = ["remembered", "warned"]


_memory: Final = maker(Memory)
_streak: Final = maker(Streak)


def remembered(memory: Memory, call: ToolCall, result: Envelope) -> tuple[Memory, int]:
    """The memory with one more result, and how often in a row this call now had it."""
    name, arguments = call.name, call.arguments if isinstance(call.arguments, str) else call.original
    key = link(known_chain("", name), digest(arguments))
    said = chain("", result.text())
    before = memory.streaks.get(key)
    times = before.times + 1 if before is not None and before.result == said else 1
    last_ok = memory.last_ok.get(name)
    return _memory(
        memory.nudges,
        memory.finalizing,
        memory.tools_dropped,
        memory.successes + result.ok,
        (*memory.called, name) if last_ok is None else memory.called,
        memory.last_ok if last_ok is result.ok else memory.last_ok.set(name, result.ok),
        memory.streaks.set(key, _streak(said, times)),
        memory.upstream,
        memory.corrections,
    ), times


def warned(result: Envelope, times: int) -> Envelope:
    """The result with a warning for the model."""
    words = f"You have made this call {times} times in a row, always with this result. Do something else."
    return replace(result, warnings=(*result.warnings, words))
