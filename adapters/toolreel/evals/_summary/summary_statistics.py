"""Figures of a summary: totals with intervals, repeated trials, comparisons, failure categories.

Runs of controls are in no total unless there is nothing else. Runs of one scenario are alike, so a total is
a mean over scenarios, and its interval is about scenarios. Tables, pages and gates take a rate and its
interval from here, so that the same runs have the same figures everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from statistics import fmean
from typing import Final, Literal, TypeAlias

from toolreel.evals._statistics.intervals import (
    CellRate,
    Clustered,
    clustered_rate,
    mean_over_scenarios,
    wilson,
)
from toolreel.evals._statistics.side_differences import scenarios_p
from toolreel.evals._statistics.significance_tests import holm
from toolreel.evals._summary.run_pairs import Axis, scenario_and_model, task_of, valid
from toolreel_core.evals import (
    CellMean,
    CellSummary,
    Count,
    EvalPlan,
    PairedCell,
    Pairs,
    ResultCounts,
    RunEntry,
    Summary,
    TaskSummary,
    Usage,
    clusters_to_reach,
    nearest_rank,
    pass_hat,
)


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


def total_of(name: str, cells: Iterable[CellSummary], trials: int) -> Total:
    """The total of some cells.

    :param trials: that the plan has for each cell
    """
    taken = counted_cells(cells)
    each = [pass_count(cell) for cell in taken]
    times = [entry.last_ms for cell in taken for entry in cell.entries if entry.result != "void"]
    return Total(
        name,
        sum((cell.counts for cell in taken), start=ResultCounts()),
        over_clusters(taken),
        mean_over_scenarios(_exercised_rate(cell) for cell in taken),
        sum(cell.ok_after_silence for cell in taken),
        pass_hat(each, 1),
        pass_hat(each, trials),
        nearest_rank(times, 50),
        nearest_rank(times, 95),
        sum((cell.usage for cell in taken), start=Usage()),
    )


def over_clusters(cells: Iterable[CellSummary]) -> Clustered | None:
    """The rate of some cells, each once; ``None`` if they have no valid run."""
    return clustered_rate([cell_rate(cell) for cell in cells])


def task_rate(task: TaskSummary, *, control: bool) -> Clustered | None:
    """The rate of a task's tool runs, or of its control runs."""
    return over_clusters([cell for cell in task.cells if cell.control is control])


def recommendation(task: TaskSummary) -> Recommendation:
    """Whether a model passes its tool scenarios often enough, under these settings and on these scenarios.

    Wilson's interval of its tool runs decides, and never the rate alone.
    """
    counts = task.counts(control=False)
    interval = wilson(Count(counts.ok, counts.valid))
    if interval is None:
        return "no" if counts.unsupported else "undecided"
    if interval.high < WORKS:
        return "no"
    if interval.low < WORKS:
        return "undecided"
    return "yes" if counts.valid >= COVERED * counts.runs else "conditional"


def pass_count(cell: CellSummary) -> Count:
    """Valid runs, and how many of them passed."""
    return Count(cell.counts.ok, cell.counts.valid)


def cell_rate(cell: CellSummary) -> CellRate:
    """What a cell adds to a total; its rate is its own, too."""
    return CellRate.of(cell.cell.scenario, cell.cell.model, pass_count(cell))


def _exercised_rate(cell: CellSummary) -> CellRate:
    """The same for passes with the hard part in them."""
    found, counts = cell_rate(cell), cell.counts
    return replace(found, rate=counts.passed / counts.valid if counts.valid else None)


def counted_cells(cells: Iterable[CellSummary]) -> tuple[CellSummary, ...]:
    """The cells of tool scenarios; where there are none, the controls."""
    given = tuple(cells)
    return tuple(cell for cell in given if not cell.control) or given


def categories_of(cells: Iterable[CellSummary]) -> Mapping[str, int]:
    """Number of runs by failure category."""
    found = sum((Counter(cell.categories) for cell in cells), start=Counter[str]())
    return dict(sorted(found.items()))


Recommendation: TypeAlias = Literal["yes", "conditional", "no", "undecided"]
"""``conditional``: it works, but its provider refused or failed many runs."""
WORKS: Final = 0.75
"""The pass rate from which on a model works."""
COVERED: Final = 0.95
"""The share of valid runs below which yes becomes conditional."""

PValues: TypeAlias = Mapping[tuple[str, str], float]
"""Of each pair of candidates, adjusted by Holm; up to :data:`LEVEL` they are separated."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All figures of a summary."""

    trials: int
    """That the plan has for each cell."""
    whole: Total
    strategies: tuple[Total, ...]
    models: tuple[Total, ...]
    """With its sampling profile in the name, where a model was run with several."""
    strategy_p_values: PValues
    model_p_values: PValues
    taxonomy: Mapping[str, Mapping[str, int]]
    """Number of runs by strategy and failure category, controls included."""
    notes: tuple[str, ...]
    """What one has to know about the figures."""


def findings_of(summary: Summary, plan: EvalPlan) -> Findings:
    """Compute the figures of a summary."""
    by_strategy = _grouped(summary.cells, lambda cell: cell.cell.strategy)
    by_model = _grouped(summary.cells, _candidate(summary))
    return Findings(
        plan.trials,
        total_of("all runs", summary.cells, plan.trials),
        tuple(total_of(name, cells, plan.trials) for name, cells in by_strategy.items()),
        tuple(total_of(name, cells, plan.trials) for name, cells in by_model.items()),
        _p_values(by_strategy, "strategy"),
        _p_values(by_model, "model"),
        {name: categories_of(cells) for name, cells in by_strategy.items()},
        (*_notes(by_strategy, by_model), *map(str, best_profiles(counted_cells(summary.cells)))),
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


def _p_values(groups: Mapping[str, Iterable[CellSummary]], axis: Axis) -> PValues:
    """Each pair of candidates with valid runs, compared on the tasks that both have, for such scenarios."""
    outcomes: dict[str, dict[_Task, bool]] = {}
    for name, cells in groups.items():
        entries = [entry for cell in counted_cells(cells) for entry in cell.entries if valid(entry)]
        if entries:
            outcomes[name] = {_Task.of(entry, axis): entry.ok for entry in entries}
    pairs = combinations(outcomes, 2)
    return holm({(one, other): _p_value(outcomes[one], outcomes[other]) for one, other in pairs})


def _p_value(one: Mapping[_Task, bool], other: Mapping[_Task, bool]) -> float:
    cells: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for task in one:  # in this order, so that sums of floats are the same each time
        if task in other:
            cells.setdefault(task.cell, []).append((one[task], other[task]))
    return scenarios_p(PairedCell(*at, Pairs.of(pairs)) for at, pairs in cells.items())


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
        if comparisons and len(scenarios) < (least := clusters_to_reach(LEVEL, comparisons)):
            pairs = f" of {comparisons} comparisons" if comparisons > 1 else ""
            yield (
                f"{what} are compared on {len(scenarios)} scenario{'' if len(scenarios) == 1 else 's'}; "
                f"with fewer than {least}, no difference{pairs} is significant"
            )


LEVEL: Final = 0.05
"""Of the tests that separate candidates."""


@dataclass(frozen=True, slots=True)
class BestProfile:
    """The sampling profile of a model with the highest rate, without the luck that made it the best.

    It is chosen on the odd trials and judged on the even ones, and the other way round; the mean of both is
    what a choice like this is worth.
    """

    model: str
    profiles: int
    """How many there are to choose from."""
    best: str
    rate: float
    """On the runs that it was chosen by."""
    on_other_trials: float | None
    """On trials that it was not chosen by; ``None`` if there is but one trial of each cell."""

    def __str__(self) -> str:
        """A sentence about it."""
        other = (
            "one trial of each cell does not tell how much of it is luck"
            if self.on_other_trials is None
            else f"judged on the other half of its trials: {100 * self.on_other_trials:.1f} %"
        )
        shown = f"{self.best}, {100 * self.rate:.1f} %"
        return f"models: best of {self.profiles} profiles of {self.model}: {shown}; {other}"


def best_profiles(cells: Iterable[CellSummary]) -> tuple[BestProfile, ...]:
    """The best profile of each model that was run with several."""
    models: dict[str, dict[str, list[CellSummary]]] = {}
    for cell in cells:
        models.setdefault(cell.cell.model, {}).setdefault(cell.cell.profile, []).append(cell)
    found = (_best_profile(model, profiles) for model, profiles in models.items() if len(profiles) > 1)
    return tuple(one for one in found if one)


def _best_profile(model: str, profiles: Mapping[str, Sequence[CellSummary]]) -> BestProfile | None:
    rates = _profile_rates(profiles)
    if len(rates) < 2:
        return None
    best = max(rates, key=lambda name: rates[name])
    odd, even = (
        _profile_rates({name: _half(cells, rest) for name, cells in profiles.items()}) for rest in (1, 0)
    )
    judged = [_judged(odd, even), _judged(even, odd)]
    known = [rate for rate in judged if rate is not None]
    return BestProfile(model, len(rates), best, rates[best], fmean(known) if len(known) == 2 else None)


def _judged(chosen_by: Mapping[str, float], judged_by: Mapping[str, float]) -> float | None:
    """The rate of what one half of the trials takes for the best, on the other half."""
    best = max(chosen_by, key=lambda name: chosen_by[name], default="")
    return judged_by.get(best)


def _profile_rates(profiles: Mapping[str, Sequence[CellSummary]]) -> dict[str, float]:
    found = {name: over_clusters(cells) for name, cells in profiles.items()}
    return {name: total.rate for name, total in found.items() if total}


def _half(cells: Sequence[CellSummary], rest: int) -> list[CellSummary]:
    return [
        replace(cell, entries=tuple(entry for entry in cell.entries if entry.trial % 2 == rest))
        for cell in cells
    ]
