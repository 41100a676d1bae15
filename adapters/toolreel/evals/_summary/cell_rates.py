"""Rates of cells and of several cells, as a summary shows them, each with its one interval.

In a plan that stops cells as soon as their intervals are narrow, a cell stops sooner after a lucky start. The
rate is then the estimate that is right on average, not the share that passed, and its interval allows for
the looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolreel.evals._statistics.intervals import CellRate, Clustered, clustered_rate, wilson
from toolreel.evals._statistics.stopping_decisions import counting_outcomes, early_stops, interval_after_looks
from toolreel.evals._summary.run_pairs import valid
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.declared_stopping_rules import NarrowEnough, Rule
from toolreel_core.evals._statistics.early_stops import EarlyStop, chance_of_first_passes
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._summary.summary import CellSummary, TaskSummary


def common_trials(trials: int, rule: Rule | None) -> int:
    """The trials that every cell has: those of the plan, or those before it may stop a cell."""
    return min(trials, rule.looks.at[0]) if rule else trials


def pass_count(cell: CellSummary, rule: Rule | None) -> Count:
    """Valid runs, and how many of them passed; where a rule has stopped the cell, those before that."""
    outcomes = [entry.ok for entry in cell.entries if valid(entry)]
    return Count.of(counting_outcomes(rule, outcomes) if isinstance(rule, NarrowEnough) else outcomes)


def over_clusters(cells: Iterable[CellSummary], rule: Rule | None) -> Clustered | None:
    """The rate of some cells, each once; ``None`` if they have no valid run."""
    return clustered_rate([cell_rate(cell, rule) for cell in cells])


def cell_interval(cell: CellSummary, rule: Rule | None) -> Interval | None:
    """Where the rate of a cell lies; ``None`` if it has no valid run."""
    count = pass_count(cell, rule)
    return _after_looks(count, rule) or wilson(count)


def _after_looks(count: Count, rule: Rule | None) -> Interval | None:
    return interval_after_looks(rule, count) if isinstance(rule, NarrowEnough) else None


def task_rate(task: TaskSummary, rule: Rule | None, *, control: bool) -> Clustered | None:
    """The rate of a task's tool runs, or of its control runs."""
    return over_clusters([cell for cell in task.cells if cell.control is control], rule)


def cell_rate(cell: CellSummary, rule: Rule | None) -> CellRate:
    """What a cell adds to a total; its rate is its own, too."""
    at, count = cell.cell, pass_count(cell, rule)
    return CellRate(
        at.scenario,
        at.model,
        count,
        chance_of_first_passes(count, 1, stops_of_cells(rule)),
        _after_looks(count, rule),
    )


def exercised_rate(cell: CellSummary, rule: Rule | None) -> CellRate:
    """The same for passes with the hard part in them; which of the passes these were stops no cell."""
    found, counts = cell_rate(cell, rule), cell.counts
    share = counts.passed / counts.ok if counts.ok else 0.0
    return replace(found, rate=None if found.rate is None else found.rate * share)


def stops_of_cells(rule: Rule | None) -> tuple[EarlyStop, ...]:
    return early_stops(rule) if isinstance(rule, NarrowEnough) else ()
