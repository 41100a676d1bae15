"""Which difference an evaluation can show, before it is run: the power of sign flips by scenario.

More trials make the difference of each scenario more exact, but not the scenarios more alike: how much they
differ among each other is what an earlier evaluation says, or an assumption. With too few of them nothing can
be significant, however many trials they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

from toolreel._internal.errors import MissingExtra
from toolreel_core.evals._statistics.checked_numbers import inside

try:
    from scipy import stats
    from scipy.optimize import root_scalar
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None


@dataclass(frozen=True, slots=True)
class Spread:
    """How much differences vary; rates and their differences are shares, so that 0.1 is 10 points."""

    by_scenario: float
    """Standard deviation of the true differences of scenarios."""
    by_model: float
    """Of those of models."""
    within: float
    """Variance of the difference of a single pair in its cell: a gain is 1, a loss -1."""

    def of_cluster(self, between: float, pairs: float) -> float:
        """Standard deviation of the measured difference of a cluster with this many pairs."""
        return sqrt(between**2 + self.within / pairs)


ASSUMED: Final = Spread(by_scenario=0.15, by_model=0.15, within=0.1)
"""Where nothing is known: 15 points among scenarios and models; one trial in ten differs by chance."""

_MANY: Final = 40
"""Clusters from which on the level of the test is the one asked for."""
_CERTAIN: Final = 15
"""A difference of this many of its standard errors is found for certain; SciPy cannot say what is beyond."""


def flips_power(difference: float, clusters: int, deviation: float, level: float = 0.05) -> float:
    """The chance that sign flips find a true difference, by Student's test at the level that they can reach.

    Of ``2 ** (clusters - 1)`` pairs of sign combinations only whole ones count, so that the level of few
    clusters is below the one asked for. Findings in the wrong direction don't count.

    :param deviation: of the measured difference of a cluster
    """
    inside("level", level)
    ways = 2.0 ** (min(clusters, _MANY) - 1)
    reached = int(level * ways) / ways
    if not reached:
        return 0.0
    if reached * ways == 1:  # nothing but the same sign everywhere
        return float(stats.norm.cdf(difference / deviation)) ** clusters
    critical = float(stats.t.isf(reached / 2, clusters - 1))
    centre = difference * sqrt(clusters) / deviation
    return float(stats.nct.sf(critical, clusters - 1, centre))


def detectable(clusters: int, deviation: float, level: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true difference that is found so often; ``None`` if there is none up to 1."""
    inside("power", power)
    largest = min(1.0, _CERTAIN * deviation / sqrt(clusters))
    if flips_power(largest, clusters, deviation, level) < power:
        return None
    found = root_scalar(
        lambda size: flips_power(size, clusters, deviation, level) - power,
        method="brentq",
        bracket=(0.0, largest),
    )
    return float(found.root)
