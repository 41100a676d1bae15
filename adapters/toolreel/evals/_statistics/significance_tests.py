"""Exact significance tests of evaluations, and adjusted p-values, on SciPy's distributions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Final, TypeAlias, TypeVar

from toolreel._internal import MissingExtra
from toolreel_core.evals import Difference

try:
    import numpy as np
    from scipy import stats
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None

_Floats: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"

Name = TypeVar("Name", bound=Hashable)

_FINEST: Final = 200_000
"""Steps from 0 to the largest sum of differences, at most: a test then takes some milliseconds."""
_AS_LIKELY: Final = 1 + 1e-7
"""Sums that are as likely as each other differ by rounding; as in SciPy's Fisher test."""


def mcnemar_p(lost: int, gained: int) -> float:
    """McNemar's exact test of losses and gains being as likely, two-sided."""
    return min(1.0, 2 * float(stats.binom.cdf(min(lost, gained), lost + gained, 0.5)))


def flips_p(differences: Sequence[Fraction]) -> float:
    """The exact test of the sum if the sign of each difference were chance, two-sided.

    All combinations of signs are counted, in whole numbers. Where the denominators have so much
    in common with nothing that this would take too long, differences are rounded, and sums that could be as
    far out as the one seen count as being so: the result is then at most a little too large.

    >>> flips_p([Fraction(1), Fraction(1, 2), Fraction(1, 3)])
    0.25
    """
    moved = [difference for difference in differences if difference]
    scale, slack = lcm(*(difference.denominator for difference in moved)), 0
    if scale * len(moved) > _FINEST:
        scale, slack = _FINEST // len(moved), len(moved)
    whole = [round(difference * scale) for difference in moved]
    step = 1 if slack else gcd(*whole) or 1
    sizes = [abs(number) // step for number in whole]
    seen = abs(sum(whole)) // step - slack
    chances = np.ones(1)
    for size in sizes:
        flipped = np.zeros(len(chances) + 2 * size)
        flipped[: len(chances)] += chances / 2
        flipped[2 * size :] += chances / 2
        chances = flipped
    reach = sum(sizes)
    return min(1.0, float(chances[np.abs(np.arange(-reach, reach + 1)) >= seen].sum()))


def two_way_p(*clusterings: Sequence[Fraction]) -> float:
    """Student's test of a mean whose variance comes from two kinds of clusters, two-sided.

    Flips by one kind leave out what the other varies. The variances add up, without that of single
    cells, which both have (A. C. Cameron, J. B. Gelbach and D. L. Miller 2011, Journal of Business & Economic
    Statistics 29:238), and the freedom is that of the fewer clusters.

    :param clusterings: differences by the one, by the other, and by cell
    """
    one, other, cells = (np.asarray(each, dtype=np.float64) for each in clusterings)
    of_one, of_other, of_cells = (each.var(ddof=1) / len(each) for each in (one, other, cells))
    variance = max(of_one, of_other, of_one + of_other - of_cells)
    if variance == 0:
        return 1.0 if one.mean() == 0 else 0.0
    freedom = min(len(one), len(other)) - 1
    return 2 * float(stats.t.sf(abs(one.mean()) / variance**0.5, freedom)) if freedom else 1.0


def permutation_p(cells: Iterable[tuple[int, int, int]]) -> float:
    """The exact test of equal rates in each cell, two-sided, if labels were exchanged inside of cells.

    Given how many runs of a cell passed, their number on the second side is hypergeometric, and the
    sum over cells has the convolution of these distributions. Sums that are at most as likely as the one seen
    count against equality; with one cell this is Fisher's exact test.

    >>> f"{permutation_p([(5, 0, 5)]):.4f}"
    '0.0079'

    :param cells: passed on the first side, passed on the second, and runs of each side
    """
    chances, seen = np.ones(1), 0
    for first, second, runs in cells:
        chances = np.convolve(chances, _hypergeometric(first + second, runs))
        seen += second - max(0, first + second - runs)
    return min(1.0, float(chances[chances <= chances[seen] * _AS_LIKELY].sum()))


@lru_cache(maxsize=4096)
def _hypergeometric(passed: int, runs: int) -> _Floats:
    """How likely each number of passes on the second side is, from the least that is possible."""
    possible = np.arange(max(0, passed - runs), min(passed, runs) + 1)
    return np.asarray(stats.hypergeom.pmf(possible, 2 * runs, passed, runs), dtype=np.float64)


def holm(p_values: Mapping[Name, float]) -> Mapping[Name, float]:
    """Holm's step-down adjustment of several comparisons, by their names.

    What is up to a level ``alpha`` afterwards is significant, and the chance that any of these findings is
    wrong is at most ``alpha``, however the comparisons depend on each other (S. Holm 1979, Scandinavian
    Journal of Statistics 6:65).

    >>> holm({("a", "b"): 0.01, ("a", "c"): 0.04, ("b", "c"): 0.03})
    {('a', 'b'): 0.03, ('a', 'c'): 0.06, ('b', 'c'): 0.06}
    """
    adjusted_values, largest = dict(p_values), 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        # Never below the one before: a comparison is not rejected once a stronger one was kept.
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - rank)))
        adjusted_values[name] = largest
    return adjusted_values


def adjusted(differences: Mapping[Name, Difference]) -> Mapping[Name, Difference]:
    """The same differences with p-values adjusted for this many comparisons, and their minimum."""
    many = len(differences)
    values = holm({name: each.p_value for name, each in differences.items()})
    return {
        name: replace(
            each, p_value=values[name], smallest_p=min(1.0, many * each.smallest_p), comparisons=many
        )
        for name, each in differences.items()
    }
