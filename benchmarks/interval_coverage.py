"""How often the interval of a total holds the rate that it is about, compared with the formula of before.

A plan is drawn again and again: scenarios are drawn from a population whose mean rate is known, and trials
from the rates of these. The interval ought to hold that mean
in 95 of 100 plans. Printed are the coverage, the mean width, and the same for the formula that totals had
before: a logistic regression on a constant with cluster-robust variance, and Wilson's interval where that has
no variance.

`python -m benchmarks.interval_coverage` draws 2,000 plans of each setting, which takes some minutes; the
tables in benchmarks/INTERVALS.md are what it prints. With the same seed it prints the same figures.
tests/adapters/evals/test_errors.py holds some settings.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple, TypeAlias, assert_never, get_args

import numpy as np
from scipy import special, stats

from toolreel.evals import cluster_mean_cdf, mean_bounds, wilson_bounds

ALPHA = 0.05
PLANS = 2_000
MEASURED = 50
"""Plans of a setting whose interval is computed for its width; whether it holds a rate is cheaper to say."""

Spread: TypeAlias = Literal["equal", "Beta", "a few broken", "all or nothing"]
"""How scenarios differ: not at all; by a Beta distribution with two pseudo-runs; most are nearly perfect, and
a few never pass; as much as can be."""


class Count(NamedTuple):
    """Runs of a cluster, and how many of them passed."""

    passed: int
    runs: int


Draws: TypeAlias = np.random.Generator
Bounds: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Setting:
    """Scenarios on one model, or on as many as a plan compares."""

    scenarios: int
    trials: int
    mean: float
    spread: Spread


@dataclass(frozen=True, slots=True)
class Drawn:
    """One plan: what the interval says about the mean of the population."""

    holds: bool
    bounds: Callable[[], Bounds]
    pooled: Sequence[Count]
    """The runs by cluster, as the formula of before had them."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of the plans of a setting."""

    coverage: float
    width: float
    before: float
    """The coverage of the formula of before."""
    width_before: float


def coverage(setting: Setting, plans: int = PLANS, seed: int = 1, measured: int = MEASURED) -> Found:
    """How often the intervals of some plans hold the rate.

    :param measured: plans whose interval is computed, for its width
    """
    draws = np.random.default_rng(seed)
    drawn = [_fixed(setting, draws) for _ in range(plans)]
    before = [_before(plan.pooled) for plan in drawn]
    wide = [high - low for low, high in (plan.bounds() for plan in drawn[:measured])]
    return Found(
        float(np.mean([plan.holds for plan in drawn])),
        float(np.mean(wide)),
        float(np.mean([low <= setting.mean <= high for low, high in before])),
        float(np.mean([high - low for low, high in before])),
    )


def _fixed(setting: Setting, draws: Draws) -> Drawn:
    passed = draws.binomial(setting.trials, _rates(setting, draws))
    rates = [float(each) / setting.trials for each in passed]
    return _over_scenarios(rates, setting.mean, [Count(int(each), setting.trials) for each in passed])


def _over_scenarios(rates: list[float], mean: float, counts: Sequence[Count]) -> Drawn:
    return Drawn(holds(tuple(sorted(rates)), mean), lambda: mean_bounds(rates), counts)


@lru_cache(maxsize=100_000)
def holds(rates: tuple[float, ...], mean: float) -> bool:
    """Whether Gaffke's interval of some rates holds a mean; its ends need not be found for that."""
    worse = [1.0 - rate for rate in rates]
    return cluster_mean_cdf(rates)(mean) >= ALPHA / 2 and cluster_mean_cdf(worse)(1.0 - mean) >= ALPHA / 2


def _rates(setting: Setting, draws: Draws) -> Sequence[float]:
    match setting.spread:
        case "equal":
            return [setting.mean] * setting.scenarios
        case "Beta":
            drawn = draws.beta(2 * setting.mean, 2 * (1 - setting.mean), setting.scenarios)
            return [float(rate) for rate in drawn]
        case "a few broken":
            good = setting.mean + 0.9 * (1 - setting.mean)
            return [good * float(one < setting.mean / good) for one in draws.random(setting.scenarios)]
        case "all or nothing":
            return [float(one < setting.mean) for one in draws.random(setting.scenarios)]
        case _:
            assert_never(setting.spread)


def _before(counts: Sequence[Count]) -> Bounds:
    """The interval of a total before: of all runs together, clusters by the sandwich."""
    passed, runs = sum(each.passed for each in counts), sum(each.runs for each in counts)
    clusters = len(counts)
    if passed in {0, runs}:
        return wilson_bounds(clusters if passed else 0, clusters, ALPHA)
    residuals = sum((each.passed * runs - each.runs * passed) ** 2 for each in counts)
    if not residuals:
        return wilson_bounds(passed, runs, ALPHA)
    rate = passed / runs
    deviation = np.sqrt(residuals / runs**4 * clusters / (clusters - 1)) / (rate * (1 - rate))
    reach = _t_quantile(clusters) * deviation
    return float(special.expit(special.logit(rate) - reach)), float(
        special.expit(special.logit(rate) + reach)
    )


@lru_cache
def _t_quantile(clusters: int) -> float:
    return float(stats.t.ppf(1 - ALPHA / 2, clusters - 1))


SPREADS: tuple[Spread, ...] = get_args(Spread)
FIXED = tuple(
    Setting(scenarios, trials, mean, spread)
    for spread, scenarios, (mean, trials) in product(
        SPREADS,
        (4, 8, 20, 60),
        ((0.3, 1), (0.8, 20), (0.95, 5), (0.99, 20)),
    )
)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _row(*about: object, found: Found) -> str:
    shown = [_percent(each) for each in (found.coverage, found.width, found.before, found.width_before)]
    return f"| {' | '.join(map(str, (*about, *shown)))} |"


def _head(*about: str) -> str:
    names = (*about, "coverage", "width", "before: coverage", "width")
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def _fixed_table(plans: int, seed: int) -> Iterator[str]:
    yield _head("scenarios differ", "scenarios", "trials", "mean rate")
    for each in FIXED:
        about = (each.spread, each.scenarios, each.trials, each.mean)
        yield _row(*about, found=coverage(each, plans, seed))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=PLANS, help="plans of each setting (2000)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for line in _fixed_table(given.plans, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
