"""Figures of a summary: totals with intervals, repeated trials, ties, failure categories.

Runs of controls are in no total unless there is nothing else. Runs of one scenario are alike, so a total is
a mean over scenarios, and its interval is about scenarios. Tables, pages and gates take a rate and its
interval from here, so that the same runs have the same figures everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Final

from toolreel.evals._runner.adaptive import Stopped, rule_of, stops_of
from toolreel.evals._statistics.intervals import Clustered, mean_over_scenarios
from toolreel.evals._statistics.multiple_comparisons import TiesFound, paired_ties
from toolreel.evals._summary.best_profiles import best_profiles
from toolreel.evals._summary.cell_rates import (
    common_trials,
    exercised_rate,
    over_clusters,
    pass_count,
    stops_of_cells,
)
from toolreel.evals._summary.run_pairs import Axis, scenario_and_model, task_of, valid
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.declared_stopping_rules import Rule
from toolreel_core.evals._statistics.differences import clusters_to_reach
from toolreel_core.evals._statistics.pass_at_k import CellMean, pass_hat
from toolreel_core.evals._summary.summary import CellSummary, RunEntry, Summary
from toolreel_core.evals._summary.totals import ResultCounts, Usage, nearest_rank


@dataclass(frozen=True, slots=True)
class Total:
    """Several cells, taken together."""

    name: str
    """Such as that of a strategy."""
    counts: ResultCounts
    clustered: Clustered | None
    """The rate and its interval. ``None``: there is no valid run."""
    exercised_rate: float | None
    """The rate of passes with the hard part in them."""
    ok_after_silence: int
    """Passes that took another attempt, after one that ended in an empty text."""
    pass_at_1: CellMean
    """The mean of the cells' rates."""
    pass_hat_k: CellMean
    """How likely all trials of a cell pass; ``k`` is the number of trials that every cell has."""
    p50_ms: int | None
    """Of the last attempt of each run that is not void, by nearest rank; so for the next one."""
    p95_ms: int | None
    usage: Usage

    @property
    def rate(self) -> float | None:
        """The mean over the scenarios of the rates of their cells; a pass may be unexercised."""
        return self.clustered.rate if self.clustered else None

    @property
    def design_effect(self) -> float | None:
        """How much less the runs say than as many independent ones; see :class:`Clustered`."""
        return self.clustered.design_effect if self.clustered else None


def total_of(name: str, cells: Iterable[CellSummary], trials: int, rule: Rule | None) -> Total:
    """The total of some cells.

    :param trials: that the plan has for each cell
    :param rule: by which it may stop a cell early
    """
    taken = counted_cells(cells)
    each = [pass_count(cell, rule) for cell in taken]
    times = [entry.last_ms for cell in taken for entry in cell.entries if entry.result != "void"]
    return Total(
        name,
        sum((cell.counts for cell in taken), start=ResultCounts()),
        over_clusters(taken, rule),
        mean_over_scenarios(exercised_rate(cell, rule) for cell in taken),
        sum(cell.ok_after_silence for cell in taken),
        pass_hat(each, 1, stops_of_cells(rule)),
        pass_hat(each, common_trials(trials, rule), stops_of_cells(rule)),
        nearest_rank(times, 50),
        nearest_rank(times, 95),
        sum((cell.usage for cell in taken), start=Usage()),
    )


def counted_cells(cells: Iterable[CellSummary]) -> tuple[CellSummary, ...]:
    """The cells of tool scenarios; where there are none, the controls."""
    given = tuple(cells)
    return tuple(cell for cell in given if not cell.control) or given


def categories_of(cells: Iterable[CellSummary]) -> Mapping[str, int]:
    """Number of runs by failure category."""
    found = sum((Counter(cell.categories) for cell in cells), start=Counter[str]())
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Findings:
    """All figures of a summary."""

    trials: int
    """That the plan has for each cell."""
    rule: Rule | None
    """By which it may stop a cell early."""
    whole: Total
    strategies: tuple[Total, ...]
    models: tuple[Total, ...]
    """With its sampling profile in the name, where a model was run with several."""
    strategy_ties: TiesFound
    model_ties: TiesFound
    taxonomy: Mapping[str, Mapping[str, int]]
    """Number of runs by strategy and failure category, controls included."""
    stops: Mapping[Cell, Stopped]
    """Cells that need no more trials by the plan's rule."""
    notes: tuple[str, ...]
    """What one has to know about the figures."""


def findings_of(summary: Summary, plan: EvalPlan) -> Findings:
    """Compute the figures of a summary."""
    rule = rule_of(plan)
    by_strategy = _grouped(summary.cells, lambda cell: cell.cell.strategy)
    by_model = _grouped(summary.cells, _candidate(summary))
    return Findings(
        plan.trials,
        rule,
        total_of("all runs", summary.cells, plan.trials, rule),
        tuple(total_of(name, cells, plan.trials, rule) for name, cells in by_strategy.items()),
        tuple(total_of(name, cells, plan.trials, rule) for name, cells in by_model.items()),
        _ties(by_strategy, "strategy"),
        _ties(by_model, "model"),
        {name: categories_of(cells) for name, cells in by_strategy.items()},
        stops_of(summary, plan),
        (*_notes(by_strategy, by_model), *map(str, best_profiles(counted_cells(summary.cells), rule))),
    )


def _grouped(
    cells: Iterable[CellSummary], name: Callable[[CellSummary], str]
) -> dict[str, list[CellSummary]]:
    groups: dict[str, list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault(name(cell), []).append(cell)
    return groups


def _candidate(summary: Summary) -> Callable[[CellSummary], str]:
    profiles: dict[str, set[str]] = {}
    for task in summary.tasks:
        profiles.setdefault(task.cell.model, set()).add(task.cell.profile)

    def name(cell: CellSummary) -> str:
        model = cell.cell.model
        return model if len(profiles[model]) == 1 else f"{model}:{cell.cell.profile}"

    return name


def _ties(groups: Mapping[str, Iterable[CellSummary]], axis: Axis) -> TiesFound:
    """Candidates that nothing separates, compared on the tasks that they share."""
    outcomes: dict[str, dict[_Task, bool]] = {}
    for name, cells in groups.items():
        entries = [entry for cell in counted_cells(cells) for entry in cell.entries if valid(entry)]
        outcomes[name] = {_Task.of(entry, axis): entry.ok for entry in entries}
    return paired_ties(outcomes, cell=lambda task: task.cell)


@dataclass(frozen=True, slots=True)
class _Task:
    """A run without the candidate that made it."""

    about: tuple[str | int, ...]
    cell: tuple[str, str]

    @classmethod
    def of(cls, entry: RunEntry, axis: Axis) -> _Task:
        about = task_of(entry, axis)
        if axis == "model":  # a candidate is a model with its profile
            about = task_of(entry, "model", "profile")
        return cls(about, scenario_and_model(entry, axis))


def _notes(*groupings: Mapping[str, Iterable[CellSummary]]) -> Iterable[str]:
    for groups, what in zip(groupings, ("strategies", "models"), strict=True):
        scenarios = {
            cell.cell.scenario for cells in groups.values() for cell in counted_cells(cells) if cell.entries
        }
        comparisons = comb(len(groups), 2)
        if comparisons and len(scenarios) < (least := clusters_to_reach(_LEVEL, comparisons)):
            pairs = f" of {comparisons} comparisons" if comparisons > 1 else ""
            yield (
                f"{what} are compared on {len(scenarios)} scenario{'' if len(scenarios) == 1 else 's'}; "
                f"with fewer than {least}, no difference{pairs} is significant"
            )


_LEVEL: Final = 0.05
"""Of the test by which candidates are tied or separated."""
