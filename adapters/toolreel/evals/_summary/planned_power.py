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
from toolreel_core.evals import EvalPlan, clusters_to_reach, inside

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


_LEVEL: Final = 0.05
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
    spread: Spread

    @property
    def sentence(self) -> str:
        """The same in words."""
        there = f"{_counted(self.scenarios, 'scenario')} of {_counted(self.pairs, 'pair')} each"
        there += f", on {self.models} models" if self.models else ""
        basis = (
            f"if differences vary by {100 * self.spread.by_scenario:.0f} points among scenarios, and "
            f"{100 * self.spread.within:.0f} % of trials disagree by chance"
        )
        if self.difference is not None:
            seen = f"differences of about {100 * self.difference:.1f} points can be seen"
            return f"with {there}, {seen} (for scenarios such as these; power 80 %, level 5 %, {basis})"
        least = max(_MORE * clusters_to_reach(_LEVEL), self.scenarios + 1)
        more = _difference(least, 0, self.pairs, self.spread)
        then = (
            f"; with {least} scenarios, differences of about {100 * more:.1f} points, {basis}" if more else ""
        )
        return f"with {there}, nothing can be seen, however many trials they have{then}"


def planned_power(plan: EvalPlan, spread: Spread = ASSUMED) -> PlannedPower | None:
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
    return PlannedPower(scenarios, models, pairs, _difference(scenarios, models, pairs, spread), spread)


def _difference(scenarios: int, models: int, pairs: int, spread: Spread) -> float | None:
    found = [detectable(scenarios, spread.of_cluster(spread.by_scenario, pairs), _LEVEL)]
    if models:
        found.append(
            detectable(models, spread.of_cluster(spread.by_model, pairs * scenarios / models), _LEVEL)
        )
    known = [each for each in found if each is not None]
    return max(known) if len(known) == len(found) else None


def _counted(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'' if many == 1 else 's'}"
