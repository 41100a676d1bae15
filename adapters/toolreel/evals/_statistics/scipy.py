"""The few functions of SciPy and statsmodels that evaluations are computed with, by our names and typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolreel._errors import MissingExtra

try:
    import numpy as np
    from scipy import stats
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None
try:
    from statsmodels.stats import multitest, proportion
except ImportError:
    raise MissingExtra.of("evals", "statsmodels") from None

__all__ = [
    "fisher_p",
    "flips_p",
    "holm_adjusted",
    "mcnemar_p",
    "mcnemar_power",
    "newcombe_bounds",
    "normal_quantile",
    "rates_power",
    "score_p",
    "t_quantile",
    "wilson_bounds",
]

Bounds = tuple[float, float]

_SPREADS: Final = 9
"""Standard deviations from the mean beyond which a number of discordant pairs does not matter."""


def wilson_bounds(passed: int, runs: int, alpha: float) -> Bounds:
    """Wilson's score interval of a rate; exactly 0 or 1 where no run or every run passed."""
    low, high = _floats(proportion.proportion_confint(passed, runs, alpha, method="wilson"))
    return 0.0 if passed == 0 else low, 1.0 if passed == runs else high


def newcombe_bounds(first: tuple[int, int], second: tuple[int, int], alpha: float) -> Bounds:
    """Newcombe's hybrid score interval of the second rate less the first; each is passed and runs."""
    found = proportion.confint_proportions_2indep(
        *second, *first, method="newcomb", compare="diff", alpha=alpha
    )
    low, high = _floats(found)
    return low, high


def score_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """The score test (Miettinen and Nurminen) of two rates being equal, two-sided."""
    return _p_value(proportion.test_proportions_2indep(*second, *first, compare="diff", method="score"))


def fisher_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Fisher's exact test of two rates being equal, two-sided."""
    table = [[passed, runs - passed] for passed, runs in (first, second)]
    return _p_value(stats.fisher_exact(table))


def mcnemar_p(lost: int, gained: int) -> tuple[float, float]:
    """McNemar's test of losses and gains being as likely, two-sided: exact, and with mid-p."""
    fewer, discordant = min(lost, gained), lost + gained
    at_most = float(stats.binom.cdf(fewer, discordant, 0.5))
    exactly = float(stats.binom.pmf(fewer, discordant, 0.5))
    return min(1.0, 2 * at_most), min(1.0, 2 * at_most - exactly)


def mcnemar_power(pairs: int, lost: float, gained: float, alpha: float) -> float:
    """The power of the exact test, if a pair is lost or gained with these chances: summed over all tables."""
    chance = lost + gained
    spread = _SPREADS * (pairs * chance * (1 - chance)) ** 0.5
    fewest, most_of_all = max(0, int(pairs * chance - spread)), min(pairs, int(pairs * chance + spread) + 1)
    discordant = np.arange(fewest, most_of_all + 1)
    # The most of the rarer kind with which the test still rejects; -1 if it never does.
    most = stats.binom.ppf(alpha / 2, discordant, 0.5)
    most = np.where(2 * stats.binom.cdf(most, discordant, 0.5) <= alpha, most, most - 1)
    share = gained / chance
    rejects = stats.binom.cdf(most, discordant, share) + stats.binom.cdf(most, discordant, 1 - share)
    return float(stats.binom.pmf(discordant, pairs, chance) @ rejects)


def rates_power(first: float, second: float, runs: int, alpha: float) -> float:
    """The power of the test of two rates being equal, each of so many runs; by the normal approximation."""
    power: Any = proportion.power_proportions_2indep(
        second - first, first, runs, alpha=alpha, return_results=False
    )
    return float(power)


def flips_p(differences: Sequence[int]) -> tuple[float, float]:
    """The exact test of the sum, if each sign were chance, two-sided: as it is, and with mid-p."""
    sizes = [abs(difference) for difference in differences if difference]
    reach, seen = sum(sizes), abs(sum(differences))
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1
    for size in sizes:
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2
    beyond = np.abs(np.arange(-reach, reach + 1))
    further, equal = float(chances[beyond > seen].sum()), float(chances[beyond == seen].sum())
    return min(1.0, further + equal), min(1.0, further + (equal / 2 if seen else equal))


def holm_adjusted(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down adjustment, in the order in which the p-values were given."""
    return _floats(multitest.multipletests(p_values, method="holm")[1]) if p_values else ()


def normal_quantile(share: float) -> float:
    """Where the standard normal distribution has so much below it."""
    return float(stats.norm.ppf(share))


def t_quantile(share: float, freedom: int) -> float:
    """Where Student's distribution has so much below it."""
    return float(stats.t.ppf(share, freedom))


# Their types name more than comes back for the arguments that are given here.
def _floats(found: Any) -> tuple[float, ...]:
    return tuple(map(float, found))


def _p_value(found: Any) -> float:
    return float(found.pvalue)
