"""Rates with intervals, differences of two sides, Holm's correction, power: functions of the table of trials.

Runs of one scenario pass together or fail together, so 100 runs of 20 scenarios say less about tasks at large
than 100 runs of 100. A statement is therefore about what was sampled: scenarios, or, for the same scenarios
alone, the trials; and always about the models that were run.

A cluster, such as a scenario, is one number between 0 and 1; how many trials it has plays no part. Each bound
supposes one more cluster, which nobody has run and which came out as badly as can be, and lets the weights of
all clusters vary as a flat Dirichlet distribution does. That is the test of N. Gaffke 2005, Mathematical
Methods of Statistics 14:451:

- nothing is assumed of how values are distributed, but that they lie between 0 and 1;
- clusters that agree do not make it collapse: twenty scenarios without a failure leave room for a rare one;
- it grows with every value, so that a better result is never worth less;
- where each cluster passed as a whole or failed as a whole, it is Clopper and Pearson's interval.

A difference of two sides is such a mean too, from -1 to 1, and its p-value is the level at which its interval
ends at 0: both come from one inversion, so that they can't contradict each other. How all of it was checked
is in docs/evals/statistics.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, comb, sqrt
from statistics import fmean, harmonic_mean
from typing import Any, NamedTuple, TypeAlias, TypeVar

from toolreel._internal import MissingExtra
from toolreel_core.evals import SAMPLE, About, Trial

try:
    import numpy as np
    from scipy import stats
    from scipy.optimize import root_scalar
    from scipy.special import ndtri
except ImportError:
    raise MissingExtra.of("evals", "scipy") from None

ALPHA = 0.05
"""One minus the confidence of all intervals, and the level of all tests that name none."""

Bounds: TypeAlias = tuple[float, float]
Name = TypeVar("Name", bound=Hashable)
Item = TypeVar("Item")
_Floats: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"
_Share: TypeAlias = Callable[[float], float]
_EDGE = 1e-12
"""Precision of a bound: two digits more than are kept."""
_DIGITS = 10
"""Kept of a bound: the last ones of a float differ between machines, and files are compared by bytes."""


# For 200 clusters, 256 nodes err by less than 1e-12, and 40 by about 1e-3.
_FINE = 256
_COARSE = 40
"""Nodes of a quadrature; the coarse one is for averages over draws, in which the errors of the single ones
cancel."""


@cache
def _gauss_legendre_quadrature(nodes: int) -> tuple[_Floats, _Floats]:
    """Places and weights of Gauss and Legendre's quadrature, from 0 to 1 onto 0 to infinity."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    places = (places + 1) / 2
    # Substitutes t = x / (1 - x); the weights include the 1 / (pi t) of Imhof's formula.
    at = places / (1.0 - places)
    return at, weights / 2 / np.square(1.0 - places) / at / np.pi


def _weighted_mean_cdf(values: _Floats, counts: _Floats, mean: float, nodes: int) -> _Floats:
    """How likely randomly weighted values have at most this mean, for each row of values.

    The inversion formula of J. P. Imhof 1961, Biometrika 48:419. Dirichlet weights are exponential variables
    divided by their sum, so the chance that a weighted mean is at most ``mean`` is the chance that a sum of
    exponentials, weighted with the distances from it, is at most 0.

    :param values: a row for each sample
    :param counts: how often each column of values occurs
    """
    at, weights = _gauss_legendre_quadrature(nodes)
    distances = values - mean
    spread = np.sqrt((np.square(distances) * counts).sum(axis=1))
    # Scaling leaves the sign of the sum as it is, and fits the sum to the nodes.
    distances /= np.where(spread > 0, spread, 1.0)[:, None]
    # By factors of at most 1, so that it underflows to 0 where their inverses would overflow.
    product = np.ones((len(values), len(at)), dtype=np.complex128)
    factor = np.ones_like(product)
    for column, count in zip(distances.T, counts, strict=True):
        factor.imag = np.outer(column, at)
        if count == 1:
            product /= factor
        else:
            product *= (1.0 / factor) ** count  # not factor**-count, which overflows on its way to 0
    found: _Floats = 0.5 + product.imag @ weights
    return found


def cluster_mean_cdf(values: Sequence[float], copies: float = 1) -> _Share:
    """The chance that randomly weighted clusters, and a further one of 0, have at most some mean.

    :param values: of the clusters, from 0 to 1
    :param copies: how often each cluster occurs, to ask what more of them would say
    """
    distinct, counts = np.unique([*values, 0.0], return_counts=True)
    weights = counts.astype(np.float64) * copies
    weights[0] -= copies - 1  # the further one is there once
    return lambda mean: float(_weighted_mean_cdf(distinct[None], weights, mean, _FINE)[0])


def mean_bounds(values: Sequence[float], alpha: float = ALPHA) -> Bounds:
    """The interval of the mean of all clusters, with those that were not run.

    :param alpha: how often the interval may miss, both sides together
    """
    return _lower_bound(values, alpha), round(
        1.0 - _lower_bound([1.0 - value for value in values], alpha), _DIGITS
    )


def p_value_of_mean(values: Sequence[float], mean: float = 0.5) -> float:
    """The level at which :func:`mean_bounds` ends at this mean: the p-value of its being the true one."""
    worse = [1.0 - value for value in values]
    return min(1.0, 2 * max(0.0, min(cluster_mean_cdf(values)(mean), cluster_mean_cdf(worse)(1 - mean))))


def _lower_bound(values: Sequence[float], alpha: float) -> float:
    """The mean at which the share is half of alpha; it cannot exceed the highest value."""
    highest = max(values)
    if highest < _EDGE:  # so is the bound; the squares of far smaller values would be 0
        return 0.0
    share, inside = cluster_mean_cdf(values), (0.0, highest)
    found = root_scalar(lambda mean: share(mean) - alpha / 2, method="brentq", bracket=inside, xtol=_EDGE)
    return round(float(found.root), _DIGITS)


def group_by_key(items: Iterable[Item], key: Callable[[Item], Name]) -> dict[Name, list[Item]]:
    groups: dict[Name, list[Item]] = {}
    for one in items:
        groups.setdefault(key(one), []).append(one)
    return groups


def _scenario_means(cells: Iterable[tuple[str, float]]) -> list[float]:
    return [fmean(value for _, value in rows) for rows in group_by_key(cells, lambda each: each[0]).values()]


def wilson_bounds(passed: float, runs: float, alpha: float = ALPHA) -> Bounds:
    """Wilson's score interval of a rate; exactly 0 or 1 where no run or every run passed.

    E. B. Wilson 1927, Journal of the American Statistical Association 22:209.

    :param runs: need not be a whole number, where it says how many a mean is worth
    """
    z = -float(ndtri(alpha / 2))
    rate, squared = passed / runs, z * z
    scale = 1 + squared / runs
    centre = (rate + squared / (2 * runs)) / scale
    reach = z * sqrt(rate * (1 - rate) / runs + squared / (4 * runs * runs)) / scale
    # Rounding would leave the ends of 0 of n and n of n a little off, and could pass the others' limits.
    low = 0.0 if passed == 0 else max(0.0, centre - reach)
    return low, 1.0 if passed == runs else min(1.0, centre + reach)


@dataclass(frozen=True, slots=True)
class Rate:
    """A measured rate, with its interval at 95 %."""

    passed: int
    of: int
    low: float
    high: float
    rate: float
    """The mean over the scenarios of the mean of their cells, each once, however many runs it has."""
    about: str
    """What the interval is about, and the formula."""
    scenarios: int = 1

    def __str__(self) -> str:
        low, high = (f"{100 * end:.1f}".removesuffix(".0") for end in (self.low, self.high))
        return f"{low} to {high} %"


def rate_of(trials: Iterable[Trial], passes: Callable[[Trial], bool] = lambda one: one.ok) -> Rate | None:
    """The rate of some trials; ``None`` if none of them is valid.

    :param passes: which of the valid ones count as passed
    """
    cells = group_by_key((one for one in trials if one.valid), lambda one: one.cell)
    if not cells:
        return None
    means = _scenario_means((cell.scenario, fmean(map(passes, rows))) for cell, rows in cells.items())
    rate, these = fmean(means), "this model" if len({cell.model for cell in cells}) == 1 else "these models"
    if len(means) > 1:
        about = f"Gaffke over scenarios: about scenarios such as these, on {these}"
        low, high = mean_bounds(means)
    else:
        about = f"Wilson: about this scenario, on {these}"
        # Of as many runs as would give a rate that is as sure as the mean of these cells.
        runs = len(cells) * harmonic_mean(map(len, cells.values()))
        low, high = wilson_bounds(rate * runs, runs)
    passed = sum(sum(map(passes, rows)) for rows in cells.values())
    of = sum(map(len, cells.values()))
    return Rate(passed, of, low, high, rate, about, len(means))


def pass_hat(trials: Iterable[Trial], k: int) -> tuple[float | None, int, int]:
    """pass^k: the chance that ``k`` trials of a cell all pass, ``C(c,k)/C(n,k)``, as the mean over cells.

    That of Yao et al. 2024 (tau-bench).

    :returns: the mean; the number of cells, and of those that have fewer than ``k`` valid trials
    """
    cells = group_by_key(trials, lambda one: one.cell).values()
    passes = [[one.ok for one in rows if one.valid] for rows in cells]
    enough = [each for each in passes if len(each) >= k]
    chances = [comb(sum(each), k) / comb(len(each), k) for each in enough]
    return fmean(chances) if chances else None, len(enough), len(cells) - len(enough)


class PairedCell(NamedTuple):
    """The trials of one scenario under one configuration on each of two sides, a pair a trial."""

    scenario: str
    model: str
    """Empty if the models are what is compared."""
    both: int
    lost: int
    gained: int
    neither: int

    @property
    def runs(self) -> int:
        return self.both + self.lost + self.gained + self.neither

    @property
    def passes(self) -> tuple[int, int]:
        return self.both + self.lost, self.both + self.gained

    @property
    def with_all_runs_lost(self) -> PairedCell:
        return PairedCell(self.scenario, self.model, 0, self.runs, 0, 0)


@dataclass(frozen=True, slots=True)
class RateDifference:
    about: About
    difference: float
    """The second's rate less the first's, -1 to 1."""
    low: float
    high: float
    p_value: float
    """The level at which the interval ends at 0; adjusted by Holm if ``comparisons`` is more than 1."""
    smallest_p: float
    """What it would be if the second side had lost all that the first passes, and that were everything."""
    scenarios: int
    runs: int
    comparisons: int = 1


def paired_rate_difference(cells: Iterable[PairedCell], about: About = SAMPLE) -> RateDifference | None:
    """The second side's rate less the first's, with its interval; ``None`` if there are no runs.

    About scenarios such as these, it is the mean over scenarios, with Gaffke's interval; about these ones,
    the mean over runs, with R. G. Newcombe's hybrid score interval, stratified by cell.
    """
    given = sorted(cell for cell in cells if cell.runs)
    if not given:
        return None
    lost = [cell.with_all_runs_lost for cell in given]
    if about == SAMPLE:
        values = scaled_scenario_differences(given)
        low, high = (2 * bound - 1 for bound in mean_bounds(values))
        mean, p_value, smallest = (
            2 * fmean(values) - 1,
            p_value_of_mean(values),
            p_value_of_mean(scaled_scenario_differences(lost)),
        )
    else:
        mean, low, high = _stratified_interval(given, ALPHA)
        p_value, smallest = _stratified_p_value(given), _stratified_p_value(lost)
    scenarios, runs = len({cell.scenario for cell in given}), sum(cell.runs for cell in given)
    return RateDifference(about, mean, low, high, p_value, smallest, scenarios, runs)


def scaled_scenario_differences(cells: Iterable[PairedCell]) -> list[float]:
    """The difference of each scenario, from -1..1 onto 0..1."""
    return _scenario_means((one.scenario, (1 + (one.gained - one.lost) / one.runs) / 2) for one in cells)


def _stratified_interval(cells: Sequence[PairedCell], alpha: float) -> tuple[float, float, float]:
    """The second side's rate less the first's, and Newcombe's interval of it, stratified by cell.

    Cells whose rates differ make the sum of passes less variable than as many runs of one rate, so that
    Wilson's interval of all runs of a side is too wide: the number of runs of a side is raised as much as
    its variance is smaller. X. Yan and X. G. Su 2010, Statistics in Biopharmaceutical Research 2:329, have
    such an interval, which collapses or explodes where few runs of a cell disagree; here the variance inside
    a cell is that of Jeffreys' rate, and never 0. Where all runs of a side agree, or there is one cell, it is
    Newcombe's interval of all runs.
    """
    runs = sum(cell.runs for cell in cells)
    sides = []
    for side in (0, 1):
        rate = sum(cell.passes[side] for cell in cells) / runs
        guesses = [(cell.runs, (cell.passes[side] + 0.5) / (cell.runs + 1)) for cell in cells]
        inside = sum(many * guess * (1 - guess) for many, guess in guesses) / runs
        effective = runs * max(1.0, rate * (1 - rate) / inside)
        sides.append((rate, *wilson_bounds(rate * effective, effective, alpha)))
    (q, q_low, q_high), (p, p_low, p_high) = sides
    below, above = sqrt((p - p_low) ** 2 + (q_high - q) ** 2), sqrt((q - q_low) ** 2 + (p_high - p) ** 2)
    return p - q, max(-1.0, p - q - below), min(1.0, p - q + above)


def _stratified_p_value(cells: Sequence[PairedCell]) -> float:
    found = _stratified_interval(cells, ALPHA)[0]
    if found == 0:
        return 1.0
    end = 1 if found > 0 else 2

    def inside(alpha: float) -> float:
        return _stratified_interval(cells, alpha)[end]

    # Just inside of 0 and 1, where the interval would be infinite and a single point.
    least, most = 1e-15, 1 - 1e-9
    if inside(least) * inside(most) > 0:
        return least if inside(least) * found > 0 else 1.0
    return float(root_scalar(inside, method="brentq", bracket=(least, most), xtol=1e-12).root)


def p_value_of_break(cell: PairedCell) -> float:
    """Fisher's exact test, one-sided, of one cell having got worse: exact where few trials have to decide."""
    first, second = cell.passes
    table = [[first, cell.runs - first], [second, cell.runs - second]]
    found: Any = stats.fisher_exact(table, alternative="greater")
    return float(found.pvalue)


def holm(p_values: Mapping[Name, float]) -> Mapping[Name, float]:
    """Holm's step-down adjustment of several comparisons, by their names.

    What is up to a level ``alpha`` afterwards is significant, and the chance that any of these findings is
    wrong is at most ``alpha``, however the comparisons depend on each other (S. Holm 1979, Scandinavian
    Journal of Statistics 6:65).

    >>> holm({("a", "b"): 0.01, ("a", "c"): 0.04, ("b", "c"): 0.03})
    {('a', 'b'): 0.03, ('a', 'c'): 0.06, ('b', 'c'): 0.06}
    """
    adjusted, largest = dict(p_values), 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        # Never below the one before: a comparison is not rejected once a stronger one was kept.
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - rank)))
        adjusted[name] = largest
    return adjusted


def adjusted_differences(differences: Mapping[Name, RateDifference]) -> Mapping[Name, RateDifference]:
    many, values = len(differences), holm({name: each.p_value for name, each in differences.items()})
    return {
        name: replace(
            each, p_value=values[name], smallest_p=min(1.0, many * each.smallest_p), comparisons=many
        )
        for name, each in differences.items()
    }


def fewest_significant_scenarios(level: float = ALPHA, comparisons: int = 1) -> int:
    """How many scenarios, all of which break, make a difference significant.

    >>> fewest_significant_scenarios(), fewest_significant_scenarios(comparisons=3)
    (6, 7)
    """
    # Always found, since 2.0 ** -1_098 is 0.
    return next(many for many in range(1, 1_100) if comparisons * 2.0 ** (1 - many) <= level)


def runs_to_show_margin(cells: Iterable[PairedCell], margin: float, about: About) -> int | None:
    """How many such scenarios, or runs of each side, would show that the second is at most a margin worse."""
    given = [cell for cell in cells if cell.runs]
    shares = scaled_scenario_differences(given)
    there = len(shares) if about == SAMPLE else sum(cell.runs for cell in given)

    def shown(many: int) -> bool:
        if about == SAMPLE:
            return cluster_mean_cdf(shares, many / there)((1 - margin) / 2) <= ALPHA / 2
        more = [PairedCell(*cell[:2], *(ceil(each * many / there) for each in cell[2:])) for cell in given]
        return _stratified_interval(more, ALPHA)[1] >= -margin

    # Doubled, up to 65,536 times as many; the number is then between the last two.
    high = next((there << times for times in range(17) if shown(there << times)), None)
    return None if high is None else bisect_left(range(high), True, max(high // 2, 1), key=shown)


SPREAD = 0.15
"""Standard deviation of the true differences of scenarios, and of models, where nothing is known."""
WITHIN = 0.1
"""Variance of the difference of a single pair in its cell (a gain is 1, a loss -1): the share of trials that
disagree by chance."""
POWER = 0.8
"""The chance with which the planner wants a true difference to be found."""


def power_of_test(difference: float, clusters: int, pairs: float) -> float:
    """The chance that a true difference is found, of scenarios such as these: in 800 drawn plans."""
    # The seed is fixed, so that the same plan always gets the same answer.
    quantiles = np.random.default_rng(clusters).standard_normal((800, clusters))
    drawn = np.clip(difference + sqrt(SPREAD**2 + WITHIN / pairs) * quantiles, -1.0, 1.0)
    values = np.hstack([(1 + drawn) / 2, np.zeros((len(drawn), 1))])
    shares = _weighted_mean_cdf(values, np.ones(values.shape[1]), 0.5, _COARSE)
    return float((shares <= ALPHA / 2).mean())


def detectable_difference(clusters: int, pairs: float) -> float | None:
    """The smallest true difference that is found in 80 % of all plans; ``None`` if there is none up to 1."""
    if power_of_test(1.0, clusters, pairs) < POWER:
        return None
    return (
        bisect_left(range(1_000), True, key=lambda n: power_of_test(n / 1_000, clusters, pairs) >= POWER)
        / 1_000
    )
