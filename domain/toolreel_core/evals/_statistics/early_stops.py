"""Estimates for cells that may have stopped early, which are right on average although they stopped.

A cell that stops once its interval is narrow stops sooner after a lucky start than after a mixed one, so the
share of its runs that passed is too high on average. What its first runs did has no such fault, but wastes
all others. Of all the orders in which the same number of passes could have come without a stop on the way,
the share that begins with a pass is right on average too, and uses every run: the estimator of
M. A. Girshick, F. Mosteller and L. J. Savage 1946, Annals of Mathematical Statistics 17:13.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

from toolreel_core.evals._statistics.counts import Count


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """A look at a cell, and what ends it there."""

    runs: int
    passed: frozenset[int]
    """The numbers of passes with which it stops."""


def chance_of_first_passes(count: Count, k: int, stops: tuple[EarlyStop, ...] = ()) -> float | None:
    """The chance that the first ``k`` runs of a cell pass, as all of its runs tell.

    >>> chance_of_first_passes(Count(3, 4), 1)
    0.75
    >>> chance_of_first_passes(Count(3, 4), 1, (EarlyStop(2, frozenset({2})),))
    0.5

    The second cell had stopped, had it begun with two passes; so of the two orders that are left, one begins
    with a pass. Without stops it is ``C(c, k) / C(n, k)``.

    :param stops: in rising order of runs; none before run ``k``
    :return: ``None`` if the cell has fewer runs, or would have stopped before these
    """
    if count.runs < k or (stops and stops[0].runs < k):
        return None
    if not stops:
        return comb(count.passed, k) / comb(count.runs, k)
    every = _orders(count.runs, 0, stops)[count.passed]
    return _orders(count.runs, k, stops)[count.passed] / every if every else None


@lru_cache(maxsize=64)
def _orders(runs: int, first: int, stops: tuple[EarlyStop, ...]) -> tuple[int, ...]:
    """By number of passes, in how many orders a cell has them if its first runs pass and nothing stops it."""
    ending = {stop.runs: stop.passed for stop in stops}
    found = [0] * first + [1]
    for done in range(first, runs):
        ended = ending.get(done, frozenset[int]())
        going = [0 if passed in ended else orders for passed, orders in enumerate(found)]
        found = [with_fail + with_pass for with_fail, with_pass in zip([*going, 0], [0, *going], strict=True)]
    return tuple(found)
