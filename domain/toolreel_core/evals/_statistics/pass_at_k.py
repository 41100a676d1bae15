"""What repeated trials of a cell say: pass@k, where one success is enough, and pass^k, where all must pass.

Both are unbiased estimates, cell by cell, of what ``k`` fresh trials would do, and then the mean over cells,
in which each cell counts once however many trials it has. The denominator is the number of cells
with at least ``k`` valid trials; the others are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb, fsum

from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count

__all__ = ["OverCells", "pass_at", "pass_hat"]


@dataclass(frozen=True, slots=True)
class OverCells:
    """A mean over cells."""

    k: int
    """Trials that are looked at together."""
    rate: float | None
    """The mean over the cells, 0 to 1; ``None`` if there are none."""
    cells: int
    """The denominator: cells with at least ``k`` trials."""
    left_out: int
    """Cells with fewer trials."""


def pass_at(cells: Iterable[Count], k: int = 1) -> OverCells:
    """pass@k: the chance that of ``k`` trials of a cell at least one passes, ``1 - C(n-c,k)/C(n,k)``.

    >>> pass_at([Count(5, 5), Count(3, 5)])
    OverCells(k=1, rate=0.8, cells=2, left_out=0)
    """
    return _over(cells, k, lambda cell: 1 - comb(cell.runs - cell.passed, k) / comb(cell.runs, k))


def pass_hat(cells: Iterable[Count], k: int) -> OverCells:
    """pass^k: the chance that of ``k`` trials of a cell all pass, ``C(c,k)/C(n,k)``.

    >>> pass_hat([Count(5, 5), Count(3, 5), Count(2, 2)], 3)
    OverCells(k=3, rate=0.55, cells=2, left_out=1)
    """
    return _over(cells, k, lambda cell: comb(cell.passed, k) / comb(cell.runs, k))


def _over(cells: Iterable[Count], k: int, chance: Callable[[Count], float]) -> OverCells:
    if k < 1:
        raise ConfigError(f"k: expected a whole number of at least 1, got {k!r}")
    given = list(cells)
    enough = [cell for cell in given if cell.runs >= k]
    rate = fsum(map(chance, enough)) / len(enough) if enough else None
    return OverCells(k, rate, len(enough), len(given) - len(enough))
