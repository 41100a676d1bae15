"""Intervals of rates: Wilson's for a cell, and one for totals over scenarios, and over models.

Runs of one scenario pass together or fail together, so 100 runs of 20 scenarios say less about tasks at large
than 100 runs of 100. An interval of a total is therefore about what was sampled: scenarios, and models where
there are enough of them. How it was checked is in docs/evals/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, harmonic_mean
from typing import Final

from toolreel.evals._statistics.interval_bounds import (
    ALPHA,
    CONFIDENCE,
    Bounds,
    cluster_mean_bounds,
    two_way_mean_bounds,
    wilson_bounds,
)
from toolreel_core.evals import Count, Interval, total

MODELS_OF_A_SAMPLE: Final = 6
"""Models from which on they are a sample of models; with fewer, a total is about these models alone."""


def wilson(count: Count) -> Interval | None:
    """Where the rate of a cell lies; ``None`` if it has no runs.

    Its runs are taken as independent; for a total over several scenarios there is
    :func:`~toolreel.evals._statistics.intervals.clustered_rate`.

    >>> print(wilson(Count(496, 580)))
    82.4 to 88.1 %
    """
    if not count.runs:
        return None
    return Interval(*wilson_bounds(count.passed, count.runs, ALPHA), CONFIDENCE, "Wilson")


@dataclass(frozen=True, slots=True)
class CellRate:
    """What a cell adds to a total."""

    scenario: str
    model: str
    count: Count
    rate: float | None
    """``None`` if it has no valid run."""

    @classmethod
    def of(cls, scenario: str, model: str, count: Count) -> CellRate:
        """A cell with the share of its runs that passed."""
        return cls(scenario, model, count, count.rate)


@dataclass(frozen=True, slots=True)
class Clustered:
    """The rate of several cells together."""

    count: Count
    """All of their runs."""
    rate: float
    """The mean over the scenarios of the mean of their cells, each once, however many runs it has."""
    interval: Interval
    """Its method says which formula it is, and what it is about."""
    clusters: int
    """Scenarios that have valid runs."""
    models: int
    """Models that have valid runs."""
    left_out: int
    """Cells without a valid run."""


def methods_of(intervals: Iterable[Interval | None]) -> str:
    """The names of the formulas of some intervals, each once."""
    return "; ".join(dict.fromkeys(interval.method for interval in intervals if interval))


def mean_over_scenarios(cells: Iterable[CellRate]) -> float | None:
    """The mean over the scenarios of the mean of their cells; ``None`` if they have no runs."""
    rated = [cell for cell in cells if cell.rate is not None]
    return fmean(map(_mean, _by_scenario(rated))) if rated else None


def clustered_rate(cells: Iterable[CellRate]) -> Clustered | None:
    """The rate of several cells together; ``None`` if they have no runs.

    Its interval is about what was sampled:

    - several scenarios: :func:`~toolreel.evals._statistics.interval_bounds.cluster_mean_bounds` over them;
    - with six models or more, over both by
      :func:`~toolreel.evals._statistics.interval_bounds.two_way_mean_bounds`;
    - one scenario and six models or more: over the models;
    - one scenario otherwise: Wilson's of its runs, so nothing about other scenarios.

    >>> cells = [CellRate.of(name, "m", Count(passed, 5)) for name, passed in zip("abcd", (5, 5, 1, 4))]
    >>> found = clustered_rate(cells)
    >>> print(found.interval, "by", found.interval.method)
    25.2 to 97.3 % by Gaffke over scenarios: about scenarios such as these, on this model
    """
    return _clustered_rate(tuple(cells))


@lru_cache(maxsize=512)
def _clustered_rate(cells: tuple[CellRate, ...]) -> Clustered | None:
    """Cached, since pages, tables and gates show the same totals, and bounds take their time."""
    rated = [cell for cell in cells if cell.rate is not None]
    if not rated:
        return None
    scenarios = _by_scenario(rated)
    models = _grouped(rated, lambda cell: cell.model)
    return Clustered(
        total(cell.count for cell in rated),
        fmean(map(_mean, scenarios)),
        _interval(rated, scenarios, models),
        len(scenarios),
        len(models),
        len(cells) - len(rated),
    )


def _by_scenario(cells: Iterable[CellRate]) -> list[list[CellRate]]:
    return _grouped(cells, lambda cell: cell.scenario)


def _grouped(cells: Iterable[CellRate], key: Callable[[CellRate], str]) -> list[list[CellRate]]:
    groups: dict[str, list[CellRate]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return [*groups.values()]


def _mean(cells: Sequence[CellRate]) -> float:
    return fmean(cell.rate or 0.0 for cell in cells)


def _interval(
    cells: Sequence[CellRate],
    scenarios: Sequence[Sequence[CellRate]],
    models: Sequence[Sequence[CellRate]],
) -> Interval:
    these = "this model" if len(models) == 1 else "these models"
    match len(scenarios) > 1, len(models) >= MODELS_OF_A_SAMPLE:
        case True, True:
            rated = [(cell.scenario, cell.model, cell.rate or 0.0) for cell in cells]
            about = "Gaffke over scenarios and models: about scenarios and models such as these"
            return Interval(*two_way_mean_bounds(rated, ALPHA), CONFIDENCE, about)
        case True, False:
            about = f"Gaffke over scenarios: about scenarios such as these, on {these}"
            return Interval(*cluster_mean_bounds([*map(_mean, scenarios)], ALPHA), CONFIDENCE, about)
        case False, True:
            about = "Gaffke over models: about models such as these, on this scenario"
            return Interval(*cluster_mean_bounds([*map(_mean, models)], ALPHA), CONFIDENCE, about)
        case _:
            about = f"Wilson: about this scenario, on {these}"
            return Interval(*_mean_bounds(cells), CONFIDENCE, about)


def _mean_bounds(cells: Sequence[CellRate]) -> Bounds:
    """Wilson's, of as many runs as would give a rate that is as sure as the mean of these cells.

    Where all cells have the same number of runs, that is the number of all their runs.
    """
    runs = len(cells) * harmonic_mean([cell.count.runs for cell in cells])
    return wilson_bounds(_mean(cells) * runs, runs, ALPHA)
