"""Two rates of runs that have nothing to do with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel.evals._statistics.scipy import fisher_p, newcombe_bounds, score_p
from toolreel_core.evals._statistics.counts import Count, Interval, inside, total

_ENOUGH: Final = 5
"""Passes and failures that each side has to expect for the score test; by Cochran's rule."""


@dataclass(frozen=True, slots=True)
class Unpaired:
    """How a second rate differs from a first."""

    difference: float
    """The second less the first, -1 to 1."""
    interval: Interval
    p_value: float
    """Two-sided, of both rates being equal."""
    test: str
    """``score test``, or ``Fisher's exact test`` where there are too few runs for it."""


def compare_unpaired(first: Count, second: Count, confidence: float = 0.95) -> Unpaired | None:
    """Compare two rates; ``None`` if one of the two has no runs.

    Where both have run the same tasks, :func:`~toolreel.evals._statistics.paired.compare_paired` sees more.

    >>> compared = compare_unpaired(Count(496, 580), Count(503, 580))
    >>> print(f"p = {compared.p_value:.2f}, {compared.interval}")
    p = 0.55, -2.8 to 5.2 %
    """
    alpha = 1 - inside("confidence", confidence)
    if first.rate is None or second.rate is None:
        return None
    counts = (first.passed, first.runs), (second.passed, second.runs)
    interval = Interval(*newcombe_bounds(*counts, alpha), confidence, "Newcombe's hybrid score")
    both = total([first, second])
    fewest = min(both.passed, both.runs - both.passed) * min(first.runs, second.runs) / both.runs
    test, p_value = ("score test", score_p) if fewest >= _ENOUGH else ("Fisher's exact test", fisher_p)
    return Unpaired(second.rate - first.rate, interval, p_value(*counts), test)
