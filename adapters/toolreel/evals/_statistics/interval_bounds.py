"""Bounds of intervals by published closed formulas over SciPy's distributions.

The tests compare them with reference values of statsmodels.
"""

from __future__ import annotations

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
    """
    z = float(stats.norm.isf(alpha / 2))
    rate, squared = passed / runs, z * z
    scale = 1 + squared / runs
    centre = (rate + squared / (2 * runs)) / scale
    reach = z * sqrt(rate * (1 - rate) / runs + squared / (4 * runs * runs)) / scale
    # Rounding would leave the ends of 0 of n and n of n a little off, and could pass the others' limits.
    low = 0.0 if passed == 0 else max(0.0, centre - reach)
    return low, 1.0 if passed == runs else min(1.0, centre + reach)


def t_quantile(share: float, freedom: int) -> float:
    """Where Student's distribution has so much below it."""
    return float(stats.t.ppf(share, freedom))
