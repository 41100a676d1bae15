"""pass@k and pass^k, as means over cells.

pass@k is the unbiased estimator of Chen et al. 2021 (Evaluating Large Language Models Trained on Code);
pass^k, where all trials have to pass, is that of Yao et al. 2024 (tau-bench). Each cell counts once. Cells
with fewer than ``k`` valid trials are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb, fsum
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count


@dataclass(frozen=True, slots=True)
class CellMean:
    """A mean over cells."""

    k: int
    """Trials that are looked at together."""
    rate: float | None
    """The mean over the cells, 0 to 1; ``None`` if there are none."""
    cells: int
    """The denominator: cells with at least ``k`` trials."""
    left_out: int
    """Cells with fewer trials."""
    reason: str = ""
    """Why there is no rate; empty if there is one."""


def pass_at(cells: Iterable[Count], k: int = 1) -> CellMean:
    """pass@k: the chance that of ``k`` trials of a cell at least one passes, ``1 - C(n-c,k)/C(n,k)``.

    >>> pass_at([Count(5, 5), Count(3, 5)])
    CellMean(k=1, rate=0.8, cells=2, left_out=0, reason='')
    """
    return _over(cells, k, lambda cell: 1 - comb(cell.runs - cell.passed, k) / comb(cell.runs, k))


def pass_hat(cells: Iterable[Count], k: int) -> CellMean:
    """pass^k: the chance that of ``k`` trials of a cell all pass, ``C(c,k)/C(n,k)``.

    >>> pass_hat([Count(5, 5), Count(3, 5), Count(2, 2)], 3)
    CellMean(k=3, rate=0.55, cells=2, left_out=1, reason='')
    """
    return _over(cells, k, lambda cell: comb(cell.passed, k) / comb(cell.runs, k))


_TOO_FEW: Final = "no cell has that many valid trials"


def _over(cells: Iterable[Count], k: int, chance: Callable[[Count], float]) -> CellMean:
    if k < 1:
        raise ConfigError(f"k: expected a whole number of at least 1, got {k!r}")
    given = list(cells)
    enough = [cell for cell in given if cell.runs >= k]
    rate = fsum(map(chance, enough)) / len(enough) if enough else None
    return CellMean(k, rate, len(enough), len(given) - len(enough), "" if enough else _TOO_FEW)
