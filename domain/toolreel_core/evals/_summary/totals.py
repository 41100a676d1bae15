"""Counts of results, usage of runs (both can be added up), and percentiles.

Percentiles are not interpolated: each is a measured value. The two functions differ where ``percent`` of the
values is a whole number: of twenty values, the 95th percentile by nearest rank is the 19th, while the
reference takes the 20th, which is the maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from operator import add, attrgetter
from typing import Final, TypeVar, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._records.record import Record, SentRequest
from toolreel_core.evals._verdicts import Result


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """Counts of runs by result.

    A run is *ok* if it passed, exercised or not, as the reference harness counts; it is *valid* if it is
    neither void nor unsupported. Rates are of valid runs; the coverage is the share of runs that are valid.
    """

    passed: int = 0
    unexercised: int = 0
    """Right, but the hard part was skipped."""
    failed: int = 0
    unsupported: int = 0
    void: int = 0

    @classmethod
    def of(cls, results: Iterable[Result]) -> ResultCounts:
        """The counts of some results.

        >>> ResultCounts.of(["pass", "fail", "void"]).rate
        0.5
        """
        found = Counter(results)
        return cls(*(found[result] for result in get_args(Result)))

    @property
    def runs(self) -> int:
        """All of them."""
        return self.valid + self.unsupported + self.void

    @property
    def ok(self) -> int:
        """Those that passed, exercised or not."""
        return self.passed + self.unexercised

    @property
    def valid(self) -> int:
        """Those that say something about the model."""
        return self.ok + self.failed

    @property
    def rate(self) -> float | None:
        """The share of valid runs that are ok, from 0 to 1; ``None`` if none is valid."""
        return self.ok / self.valid if self.valid else None

    @property
    def coverage(self) -> float | None:
        """The share of runs that are valid, from 0 to 1; ``None`` if there is none."""
        return self.valid / self.runs if self.runs else None

    def __add__(self, other: ResultCounts) -> ResultCounts:
        return ResultCounts(*map(add, _counts(self), _counts(other)))

    def tree(self) -> dict[str, Json]:
        """All of it, for a summary."""
        return {
            "runs": self.runs,
            "ok": self.ok,
            "pass": self.passed,
            "pass_unexercised": self.unexercised,
            "fail": self.failed,
            "unsupported": self.unsupported,
            "void": self.void,
            "valid": self.valid,
            "rate": self.rate,
            "coverage": self.coverage,
        }


# Added up for every run: `astuple` copies deeply and takes 20 times as long.
_counts: Final = attrgetter(*ResultCounts.__dataclass_fields__)

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
    """Known cost in billionths of the provider's currency."""
    unpriced: int = 0
    """Answered requests without a reported cost."""

    @property
    def cost(self) -> float | None:
        """In the provider's currency; ``None`` if the cost of a request is not known."""
        return None if self.unpriced else self.nanos / _NANO

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, _uses(self), _uses(other)))

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


_uses: Final = attrgetter(*Usage.__dataclass_fields__)


def usage_of(record: Record) -> Usage:
    """What a run has used, all its attempts together."""
    asked = [each for attempt in record.attempts for each in attempt.asked]
    return sum(map(_usage, asked), start=Usage(turns=record.turns, calls=record.calls))


def _usage(asked: SentRequest) -> Usage:
    return Usage(
        requests=1,
        prompt_tokens=asked.prompt_tokens,
        completion_tokens=asked.completion_tokens,
        reasoning_tokens=asked.reasoning_tokens,
        nanos=round((asked.cost or 0.0) * _NANO),
        unpriced=int(asked.cost is None and not asked.failure),
    )


Number = TypeVar("Number", int, float)


def nearest_rank(values: Iterable[Number], percent: int) -> Number | None:
    """The nearest-rank percentile: the smallest value that is at least ``percent`` % of the values.

    It is the element of rank ``ceil(n * percent / 100)``, counted from 1, of the sorted values; ``None`` if
    there are no values.

    >>> nearest_rank(range(1, 21), 95)
    19
    >>> nearest_rank([], 95) is None
    True

    :param percent: 1 to 100
    """
    _check(percent)
    ordered = sorted(values)
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


def reference_percentile(values: Iterable[int], percent: int) -> int:
    """The percentile as the reference harness computes it; 0 if there are no values.

    It is the element at ``floor(n * percent / 100)``, counted from 0, of the sorted values, or the last.

    >>> reference_percentile(range(1, 21), 50), reference_percentile(range(1, 21), 95)
    (11, 20)

    :param percent: 1 to 100
    """
    _check(percent)
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] if ordered else 0


def _check(percent: int) -> None:
    # A share such as 0.95 would pick the smallest value, and nobody would notice.
    if not 1 <= percent <= 100:
        raise ConfigError(f"percent: expected a whole number from 1 to 100, got {percent!r}")
