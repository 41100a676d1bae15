"""Totals: what several cells come to, with an interval that knows that runs of one cell are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolreel.evals._statistics.clustered import Clustered, clustered_rate
from toolreel_core.evals._statistics.counts import Count, total
from toolreel_core.evals._statistics.pass_at_k import OverCells, pass_at, pass_hat
from toolreel_core.evals._summary.percentiles import nearest_rank
from toolreel_core.evals._summary.result_counts import ResultCounts
from toolreel_core.evals._summary.summary import CellSummary
from toolreel_core.evals._summary.usage import Usage

__all__ = ["Total", "categories_of", "counted", "over_clusters", "that_count", "total_of"]


@dataclass(frozen=True, slots=True)
class Total:
    """Several cells, taken together."""

    name: str
    """Such as that of a strategy."""
    counts: ResultCounts
    clustered: Clustered | None
    """The rate and its interval; clusters are models by scenarios. ``None``: there is no valid run."""
    pass_at_1: OverCells
    """The mean of the cells' rates."""
    pass_hat_k: OverCells
    """How likely all trials of a cell pass; ``k`` is the plan's number of trials."""
    p50_ms: int | None
    """Of the last attempt of each run that is not void, by nearest rank; so for the next one."""
    p95_ms: int | None
    usage: Usage

    @property
    def rate(self) -> float | None:
        """The share of valid runs that passed, exercised or not."""
        return self.counts.rate

    @property
    def exercised_rate(self) -> float | None:
        """The share of valid runs that passed with the hard part in them."""
        return self.counts.passed / self.counts.valid if self.counts.valid else None


def total_of(name: str, cells: Iterable[CellSummary], trials: int) -> Total:
    """The total of some cells.

    :param trials: the ``k`` of pass^k
    """
    taken = that_count(cells)
    each = [counted(cell.counts) for cell in taken]
    times = [entry.last_ms for cell in taken for entry in cell.entries if entry.result != "void"]
    return Total(
        name,
        sum((cell.counts for cell in taken), start=ResultCounts()),
        over_clusters(taken),
        pass_at(each),
        pass_hat(each, trials),
        nearest_rank(times, 50),
        nearest_rank(times, 95),
        sum((cell.usage for cell in taken), start=Usage()),
    )


def that_count(cells: Iterable[CellSummary]) -> tuple[CellSummary, ...]:
    """The cells of tool scenarios; where there are none, the controls."""
    given = tuple(cells)
    return tuple(cell for cell in given if not cell.control) or given


def counted(counts: ResultCounts) -> Count:
    """Valid runs, and how many of them passed."""
    return Count(counts.ok, counts.valid)


def over_clusters(cells: Sequence[CellSummary]) -> Clustered | None:
    """The rate of some cells, of which those of one model and scenario make a cluster."""
    clusters: dict[tuple[str, str], list[Count]] = {}
    for cell in cells:
        clusters.setdefault((cell.cell.model, cell.cell.scenario), []).append(counted(cell.counts))
    return clustered_rate([total(counts) for counts in clusters.values()])


def categories_of(cells: Iterable[CellSummary]) -> Mapping[str, int]:
    """How often each category stands for a run, by its name."""
    found = sum((Counter(cell.categories) for cell in cells), start=Counter[str]())
    return dict(sorted(found.items()))
