"""Bounds of the rate of some runs, and of the mean of clusters, such as scenarios, of which a sample was run.

A cluster is one number between 0 and 1, its pass rate; its own trials say nothing about other clusters, so
their number plays no part. Each bound supposes one more cluster, which nobody has run and which came out as
badly as can be (as well, for the upper bound), and lets the weights of all clusters vary as a flat Dirichlet
distribution does. That is the test of N. Gaffke 2005, Mathematical Methods of Statistics 14:451:

- nothing is assumed of how rates are distributed, but that they lie between 0 and 1;
- clusters that agree do not make it collapse: twenty scenarios without a failure leave room for a rare
  scenario that fails;
- it grows with every rate, so that a better result is never worth less;
- where each cluster passed as a whole or failed as a whole, it is Clopper and Pearson's interval.

:func:`two_way_mean_bounds` does the same in two directions at once, for scenarios and models that are both
samples. That is our own, and rests on the simulation in docs/evals/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from math import sqrt
from typing import Final, TypeAlias

from toolreel._internal import MissingExtra

try:
    import numpy as np
    from scipy import stats
    from scipy.optimize import root_scalar
    from scipy.stats import qmc
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None

CONFIDENCE: Final = 0.95
"""The share of an evaluation's intervals that hold the true value."""
ALPHA: Final = 1 - CONFIDENCE

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


_Floats: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"

_Share: TypeAlias = Callable[[float], float]
"""How likely the mean of all is at most this."""

_EDGE: Final = 1e-12
_DIGITS: Final = 10
"""Kept of a bound: the last ones of a float differ between machines, and files are compared by bytes."""
_DRAWS: Final = 512
"""Weights of the models that a two-way bound is averaged over."""


class _Inversion:
    """The inversion formula of J. P. Imhof 1961, Biometrika 48:419, by Gauss and Legendre's quadrature.

    Dirichlet weights are exponential variables divided by their sum, so the chance that a weighted mean is
    at most ``mean`` is the chance that a sum of exponentials, weighted with the distances from it, is at
    most 0.
    """

    def __init__(self, nodes: int) -> None:
        places, weights = np.polynomial.legendre.leggauss(nodes)
        places = (places + 1) / 2
        self._at: _Floats = places / (1.0 - places)  # from 0 to 1 onto 0 to infinity
        self._weights: _Floats = weights / 2 / np.square(1.0 - places) / self._at / np.pi

    def share_below(self, values: _Floats, counts: _Floats, mean: float) -> _Floats:
        """How likely randomly weighted values have at most this mean, for each row of values.

        :param values: a row for each sample
        :param counts: how often each column of values occurs
        """
        distances = values - mean
        spread = np.sqrt((np.square(distances) * counts).sum(axis=1))
        distances /= np.where(spread > 0, spread, 1.0)[:, None]
        # By factors of at most 1, so that it underflows to 0 where their inverses would overflow.
        product = np.ones((len(values), len(self._at)), dtype=np.complex128)
        factor = np.ones_like(product)
        for column, count in zip(distances.T, counts, strict=True):
            factor.imag = np.outer(column, self._at)
            if count == 1:
                product /= factor
            else:
                product *= (1.0 / factor) ** count  # not factor**-count, which overflows on its way to 0
        found: _Floats = 0.5 + product.imag @ self._weights
        return found


_FINE: Final = _Inversion(256)
_COARSE: Final = _Inversion(40)
"""For averages over draws, in which the errors of the single ones cancel."""


def cluster_mean_bounds(rates: Sequence[float], alpha: float) -> Bounds:
    """Where the mean rate of all clusters lies, run or not.

    >>> low, high = cluster_mean_bounds([1.0] * 20, alpha=0.05)
    >>> f"{low:.3f} {high:.3f}"
    '0.832 1.000'

    :param rates: of each cluster, 0 to 1; at least one
    :param alpha: how often the interval may miss, both sides together
    """
    highest, lowest = max(rates), min(rates)
    low = _quantile(cluster_mean_below(rates), highest, alpha / 2)
    return low, round(
        1.0 - _quantile(cluster_mean_below([1.0 - rate for rate in rates]), 1.0 - lowest, alpha / 2), _DIGITS
    )


def cluster_mean_below(rates: Sequence[float]) -> _Share:
    """The chance that randomly weighted rates, and a further one of 0, have at most some mean.

    The lower bound is where it is the level of the test, so it need not be found to say whether it is below
    some mean: a simulation can do without.
    """
    values, counts = np.unique([*rates, 0.0], return_counts=True)
    weights = counts.astype(np.float64)
    return lambda mean: float(_FINE.share_below(values[None], weights, mean)[0])


Rated: TypeAlias = tuple[Hashable, Hashable, float]
"""A scenario, a model and a rate; one of each cell, so that some may be there several times."""


def two_way_mean_bounds(cells: Sequence[Rated], alpha: float) -> Bounds:
    """Where the mean rate lies over all scenarios and all models, of both of which only some were run.

    >>> low, high = two_way_mean_bounds([(s, m, 1.0) for s in range(20) for m in range(8)], alpha=0.05)
    >>> f"{low:.3f} {high:.3f}"
    '0.592 1.000'

    :param cells: a scenario without a run of some model has the mean of the others in its place
    :param alpha: how often the interval may miss, both sides together
    """
    worse = [(scenario, model, 1.0 - rate) for scenario, model, rate in cells]
    highest, lowest = max(rate for _, _, rate in cells), min(rate for _, _, rate in cells)
    low = _quantile(two_way_mean_below(cells), highest, alpha / 2)
    return low, round(1.0 - _quantile(two_way_mean_below(worse), 1.0 - lowest, alpha / 2), _DIGITS)


def two_way_mean_below(cells: Sequence[Rated]) -> _Share:
    """The same as :func:`cluster_mean_below`, where models have random weights too, and one is unseen.

    The weights of the models are a fixed set of draws, so that the same cells give the same bounds; given
    each, the chance over the scenarios is exact.
    """
    scenarios = _places(scenario for scenario, _, _ in cells)
    models = _places(sorted((model for _, model, _ in cells), key=str))  # draws are not the same for each
    sums, numbers = np.zeros((2, len(models), len(scenarios)))
    for scenario, model, rate in cells:
        sums[models[model], scenarios[scenario]] += rate
        numbers[models[model], scenarios[scenario]] += 1
    seen, weights = _drawn(len(models))
    rates = seen * (weights @ sums) / (weights @ numbers)
    values = np.hstack([rates, np.zeros_like(seen)])
    ones = np.ones(values.shape[1])
    return lambda mean: float(_COARSE.share_below(values, ones, mean).mean())


def _places(names: Iterable[Hashable]) -> dict[Hashable, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


@lru_cache(maxsize=8)
def _drawn(models: int) -> tuple[_Floats, _Floats]:
    """The share of all models that were run, and the weights of each of these, by Sobol's points.

    The points are not scrambled, so they are the same with every version of SciPy; shifted by half of their
    distance, so that none is 0. The unseen model gets their first dimension, the most even one, since it
    matters most.
    """
    points = qmc.Sobol(models + 1, scramble=False).random(_DRAWS) + 0.5 / _DRAWS
    exponential: _Floats = -np.log1p(-points[:, 1:])
    seen: _Floats = points[:, :1] ** (1.0 / models)
    return seen, exponential / exponential.sum(axis=1, keepdims=True)


def _quantile(share: _Share, highest: float, level: float) -> float:
    """Where the share is the level; nothing is above the highest."""
    if highest <= 2 * _EDGE:
        return 0.0
    inside = _EDGE, highest - _EDGE
    found = root_scalar(lambda mean: share(mean) - level, method="brentq", bracket=inside, xtol=_EDGE)
    return round(float(found.root), _DIGITS)
