"""Compare two sides: for scenarios such as those that were run, or for these scenarios alone.

Runs of one scenario are alike under every strategy and on every model, so that for scenarios such as these
the cluster is the scenario. With many models on both sides these are a sample as well, and a difference must
hold for both: clusters by scenario, and clusters by model.

For these scenarios and no others only chance among trials can mislead. Runs are compared inside a cell then:
one scenario under one configuration. Trials with the same number are not assumed to be alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Final

from toolreel.evals._statistics.interval_bounds import (
    ALPHA,
    CONFIDENCE,
    Bounds,
    cluster_mean_bounds,
    wilson_bounds,
)
from toolreel.evals._statistics.significance_tests import flips_p, permutation_p, two_way_p
from toolreel_core.evals import (
    Count,
    Difference,
    Interval,
    PairedCell,
    smallest_flips_p,
    smallest_permutation_p,
    total_pairs,
)

MANY_MODELS: Final = 6
"""From this many on, the models are a sample too; of fewer, sign flips could never be significant."""


def compare_scenarios(cells: Iterable[PairedCell]) -> Difference | None:
    """How the second side differs from the first on scenarios such as these; ``None`` without a pair.

    The difference of a scenario is the mean over its pairs, the whole difference the mean over scenarios. If
    neither side is better, the difference of each scenario could as well have had the other sign, and the
    test counts all combinations of signs. The interval is that of
    :func:`~toolreel.evals._statistics.cluster_means.cluster_mean_bounds`, so that scenarios which agree leave
    room for one that does not and was not run.

    With six models or more, both are done by model as well, and the wider interval is taken. The p-value
    is then the largest of three: flips by scenario, flips by model, and Student's test of both together.

    >>> from toolreel_core.evals._statistics.counts import Pairs
    >>> from toolreel_core.evals._statistics.differences import PairedCell
    >>> better, same = Pairs(1, 0, 4, 0), Pairs(5, 0, 0, 0)
    >>> seen = [PairedCell(str(at), "", pairs) for at, pairs in enumerate([*[better] * 6, *[same] * 6])]
    >>> compared = compare_scenarios(seen)
    >>> print(f"{compared.difference:.2f} {compared.p_value} {compared.interval}")
    0.40 0.03125 -1.3 to 65.7 %
    """
    given = [cell for cell in cells if cell.pairs.runs]
    if not given:
        return None
    both = clusterings(given)
    scenarios = both[0]
    return Difference(
        about="scenarios-such-as-these",
        difference=float(sum(scenarios) / len(scenarios)),
        interval=max(
            (_clusters_interval(tuple(sorted(each))) for each in both),
            key=lambda interval: interval.width,
        ),
        p_value=_p_value(both, given),
        smallest_p=max(smallest_flips_p(len(each)) for each in both),
        test="exact sign flips by scenario" + (" and by model, and of both" if len(both) > 1 else ""),
        scenarios=len(scenarios),
        models=len(both[1]) if len(both) > 1 else 0,
        runs=sum(cell.pairs.runs for cell in given),
    )


def scenarios_p(cells: Iterable[PairedCell]) -> float:
    """The p-value of :func:`compare_scenarios` alone; 1 without a pair."""
    given = [cell for cell in cells if cell.pairs.runs]
    return _p_value(clusterings(given), given)


def _p_value(both: Sequence[Sequence[Fraction]], given: Sequence[PairedCell]) -> float:
    by_flips = max(map(flips_p, both))
    if len(both) == 1 or len(both[0]) == 1:
        return by_flips
    return max(by_flips, two_way_p(*both, _differences(given, lambda cell: f"{cell.scenario}\0{cell.model}")))


def clusterings(cells: Sequence[PairedCell]) -> list[Sequence[Fraction]]:
    """The differences of scenarios, and those of models if these are many.

    :param cells: of which each has a pair
    """
    scenarios = _differences(cells, lambda cell: cell.scenario)
    models = _differences(cells, lambda cell: cell.model)
    return [scenarios, models] if len(models) >= MANY_MODELS else [scenarios]


def _differences(cells: Iterable[PairedCell], cluster: Callable[[PairedCell], str]) -> Sequence[Fraction]:
    gains: dict[str, int] = {}
    runs: dict[str, int] = {}
    for cell in cells:
        name, pairs = cluster(cell), cell.pairs
        gains[name] = gains.get(name, 0) + pairs.gained - pairs.lost
        runs[name] = runs.get(name, 0) + pairs.runs
    return [Fraction(gains[name], runs[name]) for name in gains]


@lru_cache(maxsize=1024)
def _clusters_interval(differences: tuple[Fraction, ...]) -> Interval:
    shares = [float(difference + 1) / 2 for difference in differences]  # from -1..1 onto 0..1
    low, high = cluster_mean_bounds(shares, ALPHA)
    return Interval(2 * low - 1, 2 * high - 1, CONFIDENCE, "Gaffke's mean of clusters")


def compare_trials(cells: Iterable[PairedCell]) -> Difference | None:
    """How the second side differs from the first on these scenarios; ``None`` without a pair.

    The test exchanges the labels of the two sides inside each cell; of one cell it is Fisher's
    exact test. The interval is Newcombe's, of rates that are stratified by cell.

    >>> from toolreel_core.evals._statistics.counts import Pairs
    >>> compared = compare_trials([PairedCell("one_switch", "", Pairs(0, 20, 0, 0))])
    >>> print(f"{compared.difference} {compared.p_value:.1e} {compared.interval}")
    -1.0 1.5e-11 -100 to -77.2 %
    """
    given = [cell for cell in cells if cell.pairs.runs]
    tables = [cell.pairs for cell in given]
    both = total_pairs(tables)
    if both.difference is None:
        return None
    bounds = stratified_bounds([each.first for each in tables], [each.second for each in tables], ALPHA)
    return Difference(
        about="these-scenarios",
        difference=both.difference,
        interval=Interval(*bounds, CONFIDENCE, "Newcombe's hybrid score, stratified by cell"),
        p_value=permutation_p((each.first.passed, each.second.passed, each.runs) for each in tables),
        smallest_p=smallest_permutation_p(each.runs for each in tables),
        test="exact permutations of trials inside cells" if len(tables) > 1 else "Fisher's exact test",
        scenarios=len({cell.scenario for cell in given}),
        runs=both.runs,
    )


def stratified_bounds(first: Sequence[Count], second: Sequence[Count], alpha: float) -> Bounds:
    """Newcombe's interval of the second side's rate less the first's, stratified by cell.

    Cells whose rates differ make the sum of passes less variable than as many runs of one rate, so that
    Wilson's interval of all runs of a side is too wide: the number of runs of a side is raised as much as
    its variance is smaller. X. Yan and X. G. Su 2010, Statistics in Biopharmaceutical Research 2:329, have
    such an interval, which collapses or explodes where few runs of a cell disagree; here the variance inside
    a cell is that of Jeffreys' rate, and never 0. Where all runs of a side agree, or there is one cell, it is
    Newcombe's interval of all runs.
    """
    p, q = _pooled_rate(second), _pooled_rate(first)
    (p_low, p_high), (q_low, q_high) = (_side_bounds(each, alpha) for each in (second, first))
    below = sqrt((p - p_low) ** 2 + (q_high - q) ** 2)
    above = sqrt((q - q_low) ** 2 + (p_high - p) ** 2)
    return max(-1.0, p - q - below), min(1.0, p - q + above)


def _pooled_rate(cells: Sequence[Count]) -> float:
    return sum(cell.passed for cell in cells) / sum(cell.runs for cell in cells)


def _side_bounds(cells: Sequence[Count], alpha: float) -> Bounds:
    runs, rate = sum(cell.runs for cell in cells), _pooled_rate(cells)
    inside_cells = sum(cell.runs * _variance(cell) for cell in cells) / runs
    effective = runs * max(1.0, rate * (1 - rate) / inside_cells)
    return wilson_bounds(rate * effective, effective, alpha)


def _variance(cell: Count) -> float:
    rate = (cell.passed + 0.5) / (cell.runs + 1)
    return rate * (1 - rate)
