"""Which difference a plan can show, before it is run: the power of sign flips by scenario.

More trials make the difference of each scenario more exact, but not the scenarios more alike: how much they
differ among each other is an assumption. With too few of them nothing can be significant, however many trials
they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

from toolreel._internal import MissingExtra
from toolreel.evals._statistics.side_differences import MANY_MODELS
from toolreel_core.evals import EvalPlan, clusters_to_reach

try:
    from scipy import stats
    from scipy.optimize import root_scalar
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None


_SPREAD: Final = 0.15
"""Standard deviation of the true differences of scenarios, and of models, where nothing is known."""
_WITHIN: Final = 0.1
"""Variance of the difference of a single pair in its cell (a gain is 1, a loss -1): the share of trials that
disagree by chance."""


def cluster_deviation(pairs: float, between: float = _SPREAD, within: float = _WITHIN) -> float:
    """Standard deviation of the measured difference of a cluster with this many pairs; 0.1 is 10 points."""
    return sqrt(between**2 + within / pairs)


_MANY: Final = 40
"""Clusters from which on the level of the test is the one asked for."""
_LEVEL: Final = 0.05
_POWER: Final = 0.8
_CERTAIN: Final = 15
"""A difference of this many of its standard errors is found for certain; SciPy cannot say what is beyond."""


def flips_power(difference: float, clusters: int, deviation: float) -> float:
    """The chance that sign flips find a true difference, by Student's test at the level that they can reach.

    Of ``2 ** (clusters - 1)`` pairs of sign combinations only whole ones count, so that the level of few
    clusters is below the one asked for. Findings in the wrong direction don't count.

    :param deviation: of the measured difference of a cluster
    """
    ways = 2.0 ** (min(clusters, _MANY) - 1)
    reached = int(_LEVEL * ways) / ways
    if not reached:
        return 0.0
    if reached * ways == 1:  # nothing but the same sign everywhere
        return float(stats.norm.cdf(difference / deviation)) ** clusters
    critical = float(stats.t.isf(reached / 2, clusters - 1))
    centre = difference * sqrt(clusters) / deviation
    return float(stats.nct.sf(critical, clusters - 1, centre))


def detectable(clusters: int, deviation: float) -> float | None:
    """The smallest true difference that is found in 80 % of all plans; ``None`` if there is none up to 1."""
    largest = min(1.0, _CERTAIN * deviation / sqrt(clusters))
    if flips_power(largest, clusters, deviation) < _POWER:
        return None
    found = root_scalar(
        lambda size: flips_power(size, clusters, deviation) - _POWER, method="brentq", bracket=(0.0, largest)
    )
    return float(found.root)


_MORE: Final = 2
"""How many times the fewest scenarios that can show anything the planner gives as an example."""


@dataclass(frozen=True, slots=True)
class PlannedPower:
    """What comparisons of a plan can show with a power of 80 % at a level of 5 %."""

    scenarios: int
    models: int
    """If they are a sample too; 0 if not."""
    pairs: int
    """Of each scenario."""
    difference: float | None
    """The smallest that is found, 0 to 1; ``None``: nothing can be found."""

    @property
    def sentence(self) -> str:
        """The same in words."""
        there = f"{_counted(self.scenarios, 'scenario')} of {_counted(self.pairs, 'pair')} each"
        there += f", on {self.models} models" if self.models else ""
        basis = (
            f"if differences vary by {100 * _SPREAD:.0f} points among scenarios, and "
            f"{100 * _WITHIN:.0f} % of trials disagree by chance"
        )
        if self.difference is not None:
            seen = f"differences of about {100 * self.difference:.1f} points can be seen"
            return f"with {there}, {seen} (for scenarios such as these; power 80 %, level 5 %, {basis})"
        least = max(_MORE * clusters_to_reach(_LEVEL), self.scenarios + 1)
        more = _difference(least, 0, self.pairs)
        then = (
            f"; with {least} scenarios, differences of about {100 * more:.1f} points, {basis}" if more else ""
        )
        return f"with {there}, nothing can be seen, however many trials they have{then}"


def planned_power(plan: EvalPlan) -> PlannedPower | None:
    """What a plan can show; ``None`` if it has no tool scenario.

    What is compared are its strategies; its models, if there is one strategy; or else a later evaluation.
    """
    scenarios = sum(not scenario.control for scenario in plan.scenarios)
    if not scenarios:
        return None
    pairs = plan.count // len(plan.scenarios)
    by_model = len(plan.strategies) == 1 and len(plan.models) > 1
    pairs //= len(plan.models) if by_model else len(plan.strategies)
    models = len(plan.models) if not by_model and len(plan.models) >= MANY_MODELS else 0
    return PlannedPower(scenarios, models, pairs, _difference(scenarios, models, pairs))


def _difference(scenarios: int, models: int, pairs: int) -> float | None:
    found = [detectable(scenarios, cluster_deviation(pairs))]
    if models:
        found.append(detectable(models, cluster_deviation(pairs * scenarios / models)))
    known = [each for each in found if each is not None]
    return max(known) if len(known) == len(found) else None


def _counted(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'' if many == 1 else 's'}"
