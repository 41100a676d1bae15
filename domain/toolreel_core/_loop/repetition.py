"""Repetition: the same call with the same result, several times in a row.

A call whose result changes, such as polling, is none.
"""

from __future__ import annotations

from dataclasses import replace

from toolreel_core._jsontext import chain, digest, link
from toolreel_core._protocol import Memory, Streak
from toolreel_core._replies import ToolCall
from toolreel_core._tools import Envelope


def record_repetition(memory: Memory, call: ToolCall, result: Envelope) -> tuple[Memory, int]:
    """The memory with one more result, and how many times in a row this call now had it."""
    name, arguments = call.name, call.arguments if isinstance(call.arguments, str) else call.original
    key = link(chain("", name), digest(arguments))
    result_digest = chain("", result.text())
    before = memory.streaks.get(key)
    times = before.times + 1 if before is not None and before.result == result_digest else 1
    last_ok = memory.last_ok.get(name)
    after = replace(
        memory,
        successes=memory.successes + result.ok,
        called=(*memory.called, name) if last_ok is None else memory.called,
        last_ok=memory.last_ok if last_ok is result.ok else memory.last_ok.set(name, result.ok),
        streaks=memory.streaks.set(key, Streak(result_digest, times)),
    )
    return after, times


def with_repetition_warning(result: Envelope, times: int) -> Envelope:
    """The result with a warning to the model that it repeats itself."""
    warning = f"You have made this call {times} times in a row, always with this result. Do something else."
    return replace(result, warnings=(*result.warnings, warning))
