"""Bounds of intervals by published closed formulas over SciPy's distributions.

The tests compare them with reference values of statsmodels.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

from toolreel._internal.errors import MissingExtra

try:
    from scipy import stats
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None

Bounds = tuple[float, float]


def wilson_bounds(passed: float, runs: float, alpha: float) -> Bounds:
    """Wilson's score interval of a rate; exactly 0 or 1 where no run or every run passed.

    E. B. Wilson 1927, Journal of the American Statistical Association 22:209.

    :param runs: need not be a whole number, where it says how many a mean is worth
    """
    z = _normal_quantile(alpha)
    rate, squared = passed / runs, z * z
    scale = 1 + squared / runs
    centre = (rate + squared / (2 * runs)) / scale
    reach = z * sqrt(rate * (1 - rate) / runs + squared / (4 * runs * runs)) / scale
    # Rounding would leave the ends of 0 of n and n of n a little off, and could pass the others' limits.
    low = 0.0 if passed == 0 else max(0.0, centre - reach)
    return low, 1.0 if passed == runs else min(1.0, centre + reach)


@lru_cache(maxsize=64)
def _normal_quantile(alpha: float) -> float:
    """Beyond which the normal distribution has half of alpha; SciPy takes longer for it than for all else."""
    return float(stats.norm.isf(alpha / 2))


def newcombe_bounds(first: tuple[int, int], second: tuple[int, int], alpha: float) -> Bounds:
    """Newcombe's hybrid score interval of the second rate minus the first; each is (passed, runs).

    R. G. Newcombe 1998, Statistics in Medicine 17:873, method 10.
    """
    p, q = second[0] / second[1], first[0] / first[1]
    p_low, p_high = wilson_bounds(*second, alpha)
    q_low, q_high = wilson_bounds(*first, alpha)
    below = sqrt((p - p_low) ** 2 + (q_high - q) ** 2)
    above = sqrt((q - q_low) ** 2 + (p_high - p) ** 2)
    return p - q - below, p - q + above
