"""Two percentiles without interpolation: each returns a measured value.

They differ where ``percent`` of the values is a whole number: of twenty values, the 95th percentile by
nearest rank is the 19th, while the reference takes the 20th, which is the maximum.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from toolreel_core._errors import ConfigError

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
