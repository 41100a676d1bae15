"""Significance tests of evaluations, their power, and adjusted p-values, on SciPy.

Where SciPy has the test, it is called; the rest are published closed formulas over SciPy's distributions.
The tests compare each with reference values of statsmodels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, Final

from toolreel._internal.errors import MissingExtra

try:
    import numpy as np
    from scipy import stats
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None

_SPREADS: Final = 9
"""Standard deviations from the mean beyond which a number of discordant pairs does not matter."""


def score_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Two-sided p-value of the score test of equal rates; each is (passed, runs).

    O. Miettinen and M. Nurminen 1985, Statistics in Medicine 4:213. Undefined
    where all runs of both sides passed or all failed: their variance is 0.
    """
    (q_passed, q_runs), (p_passed, p_runs) = first, second
    runs = p_runs + q_runs
    pooled = (p_passed + q_passed) / runs
    # Pearson's variance times n / (n - 1), which matters when there are few runs.
    spread = pooled * (1 - pooled)
    variance = (spread / p_runs + spread / q_runs) * (runs / (runs - 1))
    return 2 * float(stats.norm.sf(abs(p_passed / p_runs - q_passed / q_runs) / sqrt(variance)))


def fisher_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Two-sided p-value of Fisher's exact test of equal rates; each is (passed, runs)."""
    table = [[passed, runs - passed] for passed, runs in (first, second)]
    # SciPy declares the fields of this result as object; they are floats.
    tested: Any = stats.fisher_exact(table)
    return float(tested.pvalue)


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
    """Holm's step-down adjustment of p-values, in the order given.

    S. Holm 1979, Scandinavian Journal of Statistics 6:65.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    rising = sorted(range(len(p_values)), key=lambda at: p_values[at])
    for rank, at in enumerate(rising):
        # Never below the one before: a comparison is not rejected once a stronger one was kept.
        largest = max(largest, min(1.0, p_values[at] * (len(p_values) - rank)))
        adjusted[at] = largest
    return tuple(adjusted)
