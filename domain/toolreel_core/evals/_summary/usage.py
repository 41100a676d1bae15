"""What runs have used: requests, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._records.record import Asked, Record

__all__ = ["Usage", "usage_of"]

_NANO: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """What some runs have used; sums of whole numbers, so that their order plays no part."""

    requests: int = 0
    turns: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    nanos: int = 0
    """Billionths of the provider's currency, as far as it told the cost."""
    unpriced: int = 0
    """Requests that were answered, and whose cost it did not tell."""

    @property
    def cost(self) -> float | None:
        """In the provider's currency; ``None`` if the cost of a request is not known."""
        return None if self.unpriced else self.nanos / _NANO

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.turns + other.turns,
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.nanos + other.nanos,
            self.unpriced + other.unpriced,
        )

    def tree(self) -> dict[str, Json]:
        """All of it, for a summary."""
        return {
            "requests": self.requests,
            "turns": self.turns,
            "tool_calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cost": self.cost,
            "known_cost": self.nanos / _NANO,
        }


def usage_of(record: Record) -> Usage:
    """What a run has used, all its attempts together."""
    asked = [each for attempt in record.attempts for each in attempt.asked]
    return sum(map(_usage, asked), start=Usage(turns=record.turns, calls=record.calls))


def _usage(asked: Asked) -> Usage:
    return Usage(
        requests=1,
        prompt_tokens=asked.prompt_tokens,
        completion_tokens=asked.completion_tokens,
        reasoning_tokens=asked.reasoning_tokens,
        nanos=round((asked.cost or 0.0) * _NANO),
        unpriced=int(asked.cost is None and not asked.failure),
    )
