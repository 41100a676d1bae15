"""Intervals of rates: Wilson's for a cell, and one for totals over cells whose runs are alike.

Trials of one scenario on one model pass together or fail together, so 100 runs of 20 cells say less than
100 runs of 100 cells. The sandwich estimator sees this: it takes the variance from how the clusters differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log, sqrt

from toolreel.evals._statistics.interval_bounds import t_quantile, wilson_bounds
from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Count, total
from toolreel_core.evals._statistics.interval import Interval


def wilson(count: Count, confidence: float = 0.95) -> Interval | None:
    """Where the rate of a cell lies; ``None`` if it has no runs.

    Its runs are taken as independent; for a total over several cells there is
    :func:`~toolreel.evals._statistics.intervals.clustered_rate`.

    >>> print(wilson(Count(496, 580)))
    82.4 to 88.1 %
    """
    alpha = 1 - inside("confidence", confidence)
    return (
        Interval(*wilson_bounds(count.passed, count.runs, alpha), confidence, "Wilson")
        if count.runs
        else None
    )


@dataclass(frozen=True, slots=True)
class Clustered:
    """The rate over all runs of several clusters."""

    count: Count
    clusters: int
    """Those that have runs."""
    rate: float
    interval: Interval
    """Its method says which formula it is, and why if it stands in for the sandwich."""
    design_effect: float | None
    """The variance, measured by what it were if all runs were independent; 1 means that clusters do not
    matter. ``None`` where it cannot be estimated."""


def clustered_rate(clusters: Iterable[Count], confidence: float = 0.95) -> Clustered | None:
    """The rate of several clusters together; ``None`` if they have no runs.

    The interval is that of a logistic regression on a constant with cluster-robust variance, with
    ``G / (G - 1)`` for small numbers of clusters ``G`` and Student's quantile of ``G - 1``. Clusters may
    have different sizes, and nothing is taken for granted of the runs inside of one.

    Three cases have no such variance, and Wilson's interval stands in, and says so in its method:

    - one cluster: its runs, and so nothing about other clusters;
    - all runs passed, or all failed: the clusters as single trials, since whether runs of one cluster
      differ is not known;
    - clusters that differ in size at most: all runs, as if they were independent.

    >>> cells = clustered_rate([Count(5, 5), Count(5, 5), Count(1, 5), Count(4, 5)])
    >>> print(cells.interval, "by", cells.interval.method)
    10.8 to 98.7 % by cluster-robust logit
    >>> print(clustered_rate([Count(5, 5)] * 20).interval)
    83.9 to 100 %

    :param clusters: one count for each scenario and model, or whatever else has runs that are alike
    """
    inside("confidence", confidence)
    counts = [cluster for cluster in clusters if cluster.runs]
    both = total(counts)
    if both.rate is None:
        return None
    variance = _variance(counts, both)
    interval = _interval(counts, both, variance, confidence)
    independent = both.rate * (1 - both.rate) / both.runs
    effect = variance / independent if len(counts) > 1 and independent else None
    return Clustered(both, len(counts), both.rate, interval, effect)


def _variance(counts: list[Count], both: Count) -> float:
    """Of the rate, by the sandwich; 0 if the clusters say nothing about it."""
    if len(counts) == 1:
        return 0.0
    # In whole numbers, so that clusters without a difference give 0 and not nearly 0.
    residuals = (cluster.passed * both.runs - cluster.runs * both.passed for cluster in counts)
    return sum(one * one for one in residuals) / both.runs**4 * len(counts) / (len(counts) - 1)


def _interval(counts: list[Count], both: Count, variance: float, confidence: float) -> Interval:
    alpha = 1 - confidence
    if len(counts) == 1:
        bounds = wilson_bounds(both.passed, both.runs, alpha)
        return Interval(*bounds, confidence, "Wilson of the runs: there is one cluster")
    if both.passed in (0, both.runs):
        bounds = wilson_bounds(len(counts) if both.passed else 0, len(counts), alpha)
        return Interval(*bounds, confidence, "Wilson of the clusters: all runs came to the same")
    if variance == 0:
        bounds = wilson_bounds(both.passed, both.runs, alpha)
        return Interval(*bounds, confidence, "Wilson of the runs: all clusters have the same rate")
    rate = both.passed / both.runs
    middle = log(rate / (1 - rate))
    reach = t_quantile(1 - alpha / 2, len(counts) - 1) * sqrt(variance) / (rate * (1 - rate))
    return Interval(_unlogit(middle - reach), _unlogit(middle + reach), confidence, "cluster-robust logit")


def _unlogit(value: float) -> float:
    # Written twice, so that no exponential is too large for a float.
    return 1 / (1 + exp(-value)) if value >= 0 else exp(value) / (1 + exp(value))
