"""Counts of passed runs, paired counts of two candidates, intervals of rates, and pass^k.

pass^k, the chance that all of k trials pass, is that of Yao et al. 2024 (tau-bench). Each cell counts once.
Cells with fewer than ``k`` valid trials are left out, and counted. The formulas of intervals are in the
adapters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb, fsum

from toolreel_core._errors import ConfigError


@dataclass(frozen=True, slots=True)
class Count:
    """How many runs of one cell, or of any other group, passed.

    >>> Count(496, 580)
    Count(passed=496, runs=580)
    >>> Count(21, 20)
    Traceback (most recent call last):
    ...
    toolreel_core.ConfigError: 21 of 20 runs cannot have passed: both are counts, and no more pass than run
    """

    passed: int
    runs: int
    """Valid runs: those that are void or unsupported are not among them."""

    def __post_init__(self) -> None:
        if not 0 <= self.passed <= self.runs:
            raise ConfigError(
                f"{self.passed!r} of {self.runs!r} runs cannot have passed: both are counts, "
                "and no more pass than run"
            )

    @classmethod
    def of(cls, outcomes: Iterable[bool]) -> Count:
        """The count of runs of which each passed or did not.

        >>> Count.of([True, False, True])
        Count(passed=2, runs=3)
        """
        seen = Counter(outcomes)
        return cls(seen[True], seen.total())

    @property
    def rate(self) -> float | None:
        """The share of runs that passed, 0 to 1; ``None`` if there are no runs."""
        return self.passed / self.runs if self.runs else None


@dataclass(frozen=True, slots=True)
class Pairs:
    """How two candidates, a first and a second, did on the same tasks; each pair is a task that both ran.

    >>> pairs = Pairs(both=80, lost=2, gained=10, neither=8)
    >>> pairs.difference, pairs.discordance
    (0.08, 0.12)
    """

    both: int
    """Both passed."""
    lost: int
    """The first passed and the second did not: a loss."""
    gained: int
    """The second passed and the first did not: a recovery."""
    neither: int
    """Neither passed."""

    def __post_init__(self) -> None:
        if min(self.both, self.lost, self.gained, self.neither) < 0:
            raise ConfigError(f"pairs are counted, and no count is negative: {self!r}")

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Pairs:
        """The table of pairs (first passed, second passed).

        >>> Pairs.of([(True, True), (False, True), (False, True)])
        Pairs(both=1, lost=0, gained=2, neither=0)
        """
        seen = Counter(pairs)
        return cls(seen[True, True], seen[True, False], seen[False, True], seen[False, False])

    @property
    def runs(self) -> int:
        """Pairs altogether."""
        return self.both + self.lost + self.gained + self.neither

    @property
    def discordant(self) -> int:
        """Pairs in which exactly one passed; McNemar's test uses only these."""
        return self.lost + self.gained

    @property
    def first(self) -> Count:
        """The first candidate's runs."""
        return Count(self.both + self.lost, self.runs)

    @property
    def second(self) -> Count:
        """The second candidate's runs."""
        return Count(self.both + self.gained, self.runs)

    @property
    def difference(self) -> float | None:
        """The second's rate minus the first's, -1 to 1; ``None`` if there are no pairs."""
        return (self.gained - self.lost) / self.runs if self.runs else None

    @property
    def discordance(self) -> float | None:
        """The share of pairs that are discordant, 0 to 1; ``None`` if there are no pairs."""
        return self.discordant / self.runs if self.runs else None


def total(counts: Iterable[Count]) -> Count:
    """All runs of several groups, as one.

    >>> total([Count(1, 2), Count(3, 3)])
    Count(passed=4, runs=5)
    """
    groups = list(counts)
    return Count(sum(group.passed for group in groups), sum(group.runs for group in groups))


def total_pairs(tables: Iterable[Pairs]) -> Pairs:
    """All pairs of several tables, as one.

    >>> total_pairs([Pairs(1, 0, 2, 0), Pairs(0, 1, 1, 3)])
    Pairs(both=1, lost=1, gained=3, neither=3)
    """
    groups = list(tables)
    return Pairs(*(sum(getattr(one, key) for one in groups) for key in Pairs.__dataclass_fields__))


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed confidence interval.

    >>> print(Interval(0.8241935, 0.8814775, 0.95, "Wilson"))
    82.4 to 88.1 %
    >>> print(Interval(0.8388748, 1.0, 0.95, "Wilson"))
    83.9 to 100 %
    """

    low: float
    high: float
    confidence: float
    """The share of such intervals that hold the true value, such as 0.95."""
    method: str
    """The name of the formula; if it replaces another one, also why."""

    @property
    def width(self) -> float:
        """From the lower to the upper end."""
        return self.high - self.low

    def holds(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """The ends in percent, with one digit behind the point."""
        return f"{_percent(self.low)} to {_percent(self.high)} %"


def _percent(share: float) -> str:
    shown = f"{100 * share:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown


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


def pass_hat(cells: Iterable[Count], k: int) -> CellMean:
    """pass^k: the chance that of ``k`` trials of a cell all pass, ``C(c,k)/C(n,k)``.

    >>> pass_hat([Count(5, 5), Count(3, 5), Count(2, 2)], 3)
    CellMean(k=3, rate=0.55, cells=2, left_out=1)
    """
    if k < 1:
        raise ConfigError(f"k: expected a whole number of at least 1, got {k!r}")
    given = list(cells)
    enough = [cell for cell in given if cell.runs >= k]
    chances = (comb(cell.passed, k) / comb(cell.runs, k) for cell in enough)
    return CellMean(k, fsum(chances) / len(enough) if enough else None, len(enough), len(given) - len(enough))
