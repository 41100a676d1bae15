"""Compare two sides on the scenarios that were run and no others, where only chance among trials can mislead.

Runs are compared inside a cell: one scenario under one configuration. Trials with the same number are not
assumed to be alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

from toolreel.evals._statistics.interval_bounds import Bounds, wilson_bounds
from toolreel.evals._statistics.significance_tests import permutation_p
from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Count, total_pairs
from toolreel_core.evals._statistics.differences import Difference, PairedCell, smallest_permutation_p
from toolreel_core.evals._statistics.interval import Interval


def compare_trials(cells: Iterable[PairedCell], confidence: float = 0.95) -> Difference | None:
    """How the second side differs from the first on these scenarios; ``None`` without a pair.

    The test exchanges the labels of the two sides inside each cell; of one cell it is Fisher's
    exact test. The interval is Newcombe's, of rates that are stratified by cell.

    >>> from toolreel_core.evals._statistics.counts import Pairs
    >>> compared = compare_trials([PairedCell("one_switch", "", Pairs(0, 20, 0, 0))])
    >>> print(f"{compared.difference} {compared.p_value:.1e} {compared.interval}")
    -1.0 1.5e-11 -100 to -77.2 %
    """
    alpha = 1 - inside("confidence", confidence)
    given = [cell for cell in cells if cell.pairs.runs]
    tables = [cell.pairs for cell in given]
    both = total_pairs(tables)
    if both.difference is None:
        return None
    bounds = stratified_bounds([each.first for each in tables], [each.second for each in tables], alpha)
    return Difference(
        about="these-scenarios",
        difference=both.difference,
        interval=Interval(*bounds, confidence, "Newcombe's hybrid score, stratified by cell"),
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
    p, q = _rate(second), _rate(first)
    (p_low, p_high), (q_low, q_high) = (_bounds(each, alpha) for each in (second, first))
    below = sqrt((p - p_low) ** 2 + (q_high - q) ** 2)
    above = sqrt((q - q_low) ** 2 + (p_high - p) ** 2)
    return max(-1.0, p - q - below), min(1.0, p - q + above)


def _rate(cells: Sequence[Count]) -> float:
    return sum(cell.passed for cell in cells) / sum(cell.runs for cell in cells)


def _bounds(cells: Sequence[Count], alpha: float) -> Bounds:
    runs, rate = sum(cell.runs for cell in cells), _rate(cells)
    inside_cells = sum(cell.runs * _variance(cell) for cell in cells) / runs
    effective = runs * max(1.0, rate * (1 - rate) / inside_cells)
    return wilson_bounds(rate * effective, effective, alpha)


def _variance(cell: Count) -> float:
    rate = (cell.passed + 0.5) / (cell.runs + 1)
    return rate * (1 - rate)
