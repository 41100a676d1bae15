"""Compare two rates of runs that are the same but for what is compared, as replies under two strategies.

Pairs in which both passed or both failed say nothing about which is better; the test is about the others.
Two sides that were each run have trials of their own: for these there are
:func:`~toolreel.evals._statistics.scenario_differences.compare_scenarios` and
:func:`~toolreel.evals._statistics.trial_differences.compare_trials`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from toolreel.evals._statistics.interval_bounds import wilson_bounds
from toolreel.evals._statistics.significance_tests import mcnemar_p
from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Pairs
from toolreel_core.evals._statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class Paired:
    """How a second candidate differs from a first on the same tasks."""

    pairs: Pairs
    difference: float
    """The second's rate less the first's, -1 to 1."""
    interval: Interval
    exact_p: float
    """Two-sided, of gains and losses being as likely; decisions are made with it, and err no more often than
    their level says."""
    mid_p: float
    """The same with half of the chance of what was seen: less careful, and nearer to its level."""


def compare_paired(pairs: Pairs, confidence: float = 0.95) -> Paired | None:
    """Compare two candidates whose pairs are independent; ``None`` if there are no pairs.

    The interval is Newcombe's square-and-add (his method 10): Wilson's intervals of both rates, put
    together with the correlation of the pairs. The p-values are McNemar's, exact and mid-p.

    >>> compared = compare_paired(Pairs(both=80, lost=2, gained=10, neither=8))
    >>> print(f"{compared.exact_p:.4f} {compared.mid_p:.4f} {compared.interval}")
    0.0386 0.0225 1 to 15.5 %
    """
    alpha = 1 - inside("confidence", confidence)
    if pairs.difference is None:
        return None
    interval = Interval(*_square_and_add(pairs, alpha), confidence, "Newcombe's square-and-add")
    exact_p, mid_p = mcnemar_p(pairs.lost, pairs.gained)
    return Paired(pairs, pairs.difference, interval, exact_p, mid_p)


def _square_and_add(pairs: Pairs, alpha: float) -> tuple[float, float]:
    first, second = pairs.first, pairs.second
    p, q = second.passed / pairs.runs, first.passed / pairs.runs
    p_low, p_high = wilson_bounds(second.passed, pairs.runs, alpha)
    q_low, q_high = wilson_bounds(first.passed, pairs.runs, alpha)
    phi = _correlation(pairs)
    below = (p - p_low) ** 2 - 2 * phi * (p - p_low) * (q_high - q) + (q_high - q) ** 2
    above = (p_high - p) ** 2 - 2 * phi * (p_high - p) * (q - q_low) + (q - q_low) ** 2
    # Rounding can leave a little less than nothing where the two move as one.
    return p - q - sqrt(max(below, 0.0)), p - q + sqrt(max(above, 0.0))


def _correlation(pairs: Pairs) -> float:
    """Of passing with passing; 0 where a candidate always or never passes.

    Where it is positive, Newcombe takes half a pair from each side of the product, but not below 0.
    """
    first, second = pairs.first, pairs.second
    scale = first.passed * (pairs.runs - first.passed) * second.passed * (pairs.runs - second.passed)
    if scale == 0:
        return 0.0
    product = pairs.both * pairs.neither - pairs.lost * pairs.gained
    return (max(product - pairs.runs / 2, 0.0) if product > 0 else product) / sqrt(scale)
