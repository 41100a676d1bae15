"""Compare two rates: of runs on the same tasks (paired), or of runs that share no task (unpaired).

Pairs in which both passed or both failed say nothing about which is better; the tests are about the others.
Where trials of one cell are alike, :func:`compare_clustered` takes each cell as a whole.
:func:`paired_detectable` says which difference so many pairs can show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Final

from toolreel.evals._statistics.interval_bounds import newcombe_bounds, t_quantile, wilson_bounds
from toolreel.evals._statistics.significance_tests import fisher_p, flips_p, mcnemar_p, mcnemar_power, score_p
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Count, Pairs, total, total_pairs
from toolreel_core.evals._statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class Paired:
    """How a second candidate differs from a first on the same tasks."""

    pairs: Pairs
    clusters: int | None
    """Cells that have pairs; ``None`` where each pair stands for itself."""
    difference: float
    """The second's rate less the first's, -1 to 1."""
    interval: Interval
    exact_p: float
    """Two-sided, of gains and losses being as likely; decisions are made with it, and err no more often than
    their level says."""
    mid_p: float
    """The same with half of the chance of what was seen: less careful, and nearer to its level."""
    test: str
    """``exact McNemar``, or ``exact sign flips of clusters``."""


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
    return Paired(pairs, None, pairs.difference, interval, exact_p, mid_p, "exact McNemar")


def compare_clustered(clusters: Iterable[Pairs], confidence: float = 0.95) -> Paired | None:
    """Compare two candidates on cells with several pairs each; ``None`` if there are no pairs.

    The interval takes the variance from how the cells differ (the sandwich, with ``G / (G - 1)`` and
    Student's quantile of ``G - 1``). The p-values are exact: if neither candidate is better, the
    difference of each cell could as well have had the other sign, and all combinations of signs are
    counted. With one pair to a cell this is McNemar's exact test.

    One cell, and cells that do not differ at all, have no such variance: the interval is then that
    of :func:`compare_paired`, and its method says so.

    >>> compared = compare_clustered(
    ...     [Pairs(1, 0, 4, 0), Pairs(2, 0, 3, 0), Pairs(5, 0, 0, 0), Pairs(3, 0, 2, 0)]
    ... )
    >>> print(f"{compared.exact_p} {compared.interval}")
    0.25 -9.4 to 99.4 %

    :param clusters: one table for each scenario and model, or whatever else has pairs that are alike
    """
    inside("confidence", confidence)
    tables = [cluster for cluster in clusters if cluster.runs]
    both = total_pairs(tables)
    if both.difference is None:
        return None
    exact_p, mid_p = flips_p([table.gained - table.lost for table in tables])
    interval = _clustered(tables, both, confidence)
    return Paired(
        both, len(tables), both.difference, interval, exact_p, mid_p, "exact sign flips of clusters"
    )


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


def _clustered(tables: list[Pairs], both: Pairs, confidence: float) -> Interval:
    alpha = 1 - confidence
    groups, gain = len(tables), both.gained - both.lost
    # In whole numbers, so that cells without a difference give 0 and not nearly 0.
    residuals = [(table.gained - table.lost) * both.runs - table.runs * gain for table in tables]
    if groups == 1 or not any(residuals):
        why = "there is one cluster" if groups == 1 else "all clusters have the same difference"
        method = f"Newcombe's square-and-add of the pairs: {why}"
        return Interval(*_square_and_add(both, alpha), confidence, method)
    spread = sqrt(sum(one * one for one in residuals) * groups / (groups - 1)) / both.runs**2
    reach, middle = t_quantile(1 - alpha / 2, groups - 1) * spread, gain / both.runs
    return Interval(max(-1.0, middle - reach), min(1.0, middle + reach), confidence, "cluster-robust")


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

    Where both have run the same tasks, :func:`compare_paired` sees more.

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


def paired_power(discordance: float, difference: float, pairs: int, *, alpha: float = 0.05) -> float:
    """The chance that the exact McNemar test finds a difference.

    :param discordance: the share of tasks on which exactly one of the two passes
    """
    inside("alpha", alpha)
    if pairs < 1:
        raise ConfigError(f"pairs: expected at least 1, got {pairs!r}")
    if abs(difference) > inside("discordance", discordance):
        raise ConfigError(
            f"difference: expected at most the discordance, {discordance!r}, got {difference!r}: "
            "two that differ so much disagree on at least as many tasks"
        )
    return mcnemar_power(pairs, (discordance - difference) / 2, (discordance + difference) / 2, alpha)


def paired_detectable(
    discordance: float, pairs: int, *, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The smallest difference that so many pairs show; ``None`` if not even all of the discordance."""
    inside("power", power)
    low, high = 0.0, inside("discordance", discordance) * (1 - 1e-9)
    if paired_power(discordance, high, pairs, alpha=alpha) < power:
        return None
    while high - low > 1e-7:
        middle = (low + high) / 2
        enough = paired_power(discordance, middle, pairs, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high
