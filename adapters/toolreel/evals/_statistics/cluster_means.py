"""Bounds of the mean of clusters, such as scenarios, of which only a sample was run.

A cluster is one number between 0 and 1, its pass rate; its own trials say nothing about other clusters, so
their number plays no part. Each bound supposes one more cluster, which nobody has run and which came out as
badly as can be (as well, for the upper bound), and lets the weights of all clusters vary as a flat Dirichlet
distribution does. That is the test of N. Gaffke 2005, Mathematical Methods of Statistics 14:451:

- nothing is assumed of how rates are distributed, but that they lie between 0 and 1;
- clusters that agree do not make it collapse: twenty scenarios without a failure leave room for a rare
  scenario that fails;
- it grows with every rate, so that a better result is never worth less;
- where each cluster passed as a whole or failed as a whole, it is Clopper and Pearson's interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from toolreel._internal.errors import MissingExtra
from toolreel.evals._statistics.interval_bounds import Bounds

try:
    import numpy as np
    from scipy.optimize import brentq
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None

_Floats: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(256)
_PLACES: Final[_Floats] = (_NODES + 1) / 2
_EDGE: Final = 1e-12


def cluster_mean_bounds(rates: Sequence[float], alpha: float) -> Bounds:
    """Where the mean rate of all clusters lies, run or not.

    >>> low, high = cluster_mean_bounds([1.0] * 20, alpha=0.05)
    >>> f"{low:.3f} {high:.3f}"
    '0.832 1.000'

    :param rates: of each cluster, 0 to 1; at least one
    :param alpha: how often the interval may miss, both sides together
    """
    values = np.asarray(rates, dtype=np.float64)
    return _low(values, alpha / 2), 1.0 - _low(1.0 - values, alpha / 2)


def _low(rates: _Floats, level: float) -> float:
    """The level's quantile of the weighted mean of the rates and a further 0."""
    if rates.max() <= 2 * _EDGE:
        return 0.0
    values = np.append(rates, 0.0)
    below = values.max() - _EDGE
    return float(brentq(lambda mean: _share_below(values, mean) - level, _EDGE, below, xtol=_EDGE))


def _share_below(values: _Floats, mean: float) -> float:
    """How likely randomly weighted values have at most this mean.

    Dirichlet weights are exponential variables divided by their sum, so this is the chance that a weighted
    sum of exponentials is at most 0, by the inversion formula of J. P. Imhof 1961, Biometrika 48:419.
    """
    distances = values - mean
    scale = 1.0 / float(np.sqrt(np.square(distances).sum()))
    at = scale * _PLACES / (1.0 - _PLACES)  # from 0 to 1 onto 0 to infinity
    turned = np.outer(at, distances)
    angle = np.arctan(turned).sum(axis=1)
    damping = np.exp(-0.5 * np.log1p(np.square(turned)).sum(axis=1))
    slope = scale / np.square(1.0 - _PLACES) * _WEIGHTS / 2
    return 0.5 - float((np.sin(angle) * damping / at * slope).sum()) / float(np.pi)
