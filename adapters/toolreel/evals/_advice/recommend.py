"""Recommendations from an evaluation: the best profile of each model, and what its interval says.

The same model at two endpoints is two models here: one may be served well, and the other not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from toolreel._internal.errors import ResultsError
from toolreel.evals._statistics.cluster_means import cluster_mean_bounds
from toolreel.evals._statistics.intervals import wilson
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core.evals._advice.recommendation import (
    Levels,
    ModelFigures,
    ProfileFigures,
    Recommended,
    recommended,
)
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.counts import Count, total
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._summary.summary import CellSummary, RunEntry, Summary
from toolreel_core.evals._summary.totals import ResultCounts, nearest_rank

_ALPHA = 0.05
_Name = TypeVar("_Name", str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class Recommendations:
    """The recommendations from an evaluation."""

    strategy: str
    levels: Levels
    measured_on: str
    """The day on which the evaluation was begun, as ``YYYY-MM-DD``."""
    models: tuple[Recommended, ...]
    """Each at each endpoint."""

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The endpoints with names that there are figures of."""
        return tuple(dict.fromkeys(one.figures.endpoint for one in self.models if one.figures.endpoint))


def recommendations(
    summary: Summary,
    plan: EvalPlan,
    created: str,
    strategy: str = "",
    levels: Levels | None = None,
    endpoint: str = "",
) -> Recommendations:
    """Recommend models by an evaluation.

    :param created: when it was begun
    :param strategy: whose runs decide; by default ``production``, or the only one
    :param endpoint: only the runs at this one, by its name
    :raises ResultsError: if there are no runs of that strategy or endpoint, or no strategy is named and it is
        not clear
    """
    name, levels = _strategy(summary, strategy), levels or Levels()
    if endpoint and endpoint not in plan.endpoints:
        raise ResultsError(f"--endpoint: {unknown_name('endpoint', endpoint, plan.endpoints)}")
    here = [cell for cell in summary.cells if not endpoint or cell.cell.endpoint == endpoint]
    by_place = _grouped((cell for cell in here if cell.cell.strategy == name), _place)
    found = tuple(
        recommended(_figures(*place, cells, summary, plan), levels)
        for place, cells in by_place.items()
        if not all(cell.control for cell in cells)
    )
    if not found:
        raise ResultsError(f"{name}: there are no runs of tool scenarios, so nothing can be recommended")
    return Recommendations(name, levels, created[:10], found)


def _strategy(summary: Summary, word: str) -> str:
    names = list(dict.fromkeys(cell.cell.strategy for cell in summary.cells))
    if word and word not in names:
        raise ResultsError(unknown_name("strategy", word, names))
    if word or "production" in names:
        return word or "production"
    if len(names) != 1:
        raise ResultsError(
            f"--strategy: name one of {', '.join(names)}" if names else "there are no runs yet"
        )
    return names[0]


def _place(cell: CellSummary) -> tuple[str, str]:
    return cell.cell.model, cell.cell.endpoint


def _profile(cell: CellSummary) -> str:
    return cell.cell.profile


def _grouped(
    cells: Iterable[CellSummary], name: Callable[[CellSummary], _Name]
) -> Mapping[_Name, list[CellSummary]]:
    groups: dict[_Name, list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault(name(cell), []).append(cell)
    return groups


def _figures(
    model: str, endpoint: str, cells: Sequence[CellSummary], summary: Summary, plan: EvalPlan
) -> ModelFigures:
    tools = _grouped((cell for cell in cells if not cell.control), _profile)
    profiles = tuple(_of_profile(name, its, len(tools)) for name, its in tools.items())
    figures = ModelFigures(
        model,
        profiles,
        None,
        Count(0, 0),
        _split_half(tools),
        plan.presets.workaround(plan.endpoint_at(endpoint).provider, model).names,
        None,
    )
    best = figures.best.profile
    control = _count(cell for cell in cells if cell.control and cell.cell.profile == best)
    bare = _count(
        cell
        for cell in summary.cells
        if (*_place(cell), cell.cell.profile, cell.cell.strategy) == (model, endpoint, best, "raw")
        and not cell.control
    )
    is_raw = cells[0].cell.strategy == "raw"
    return ModelFigures(
        *(model, profiles, wilson(control), control, figures.split_half, figures.workarounds),
        bare if bare.runs and not is_raw else None,
        endpoint if len(plan.endpoints) > 1 else "",
    )


def _count(cells: Iterable[CellSummary]) -> Count:
    return total(Count(cell.counts.ok, cell.counts.valid) for cell in cells)


def _of_profile(name: str, cells: Sequence[CellSummary], choices: int) -> ProfileFigures:
    counts = sum((cell.counts for cell in cells), start=ResultCounts())
    by_scenario = _grouped(cells, lambda cell: cell.cell.scenario)
    scenarios = tuple((scenario, _count(its)) for scenario, its in by_scenario.items())
    times = [entry.last_ms for cell in cells for entry in cell.entries if entry.result != "void"]
    # The best of several profiles is the best by chance, too: Bonferroni over the choices.
    alpha = _ALPHA / choices
    count = Count(counts.ok, counts.valid)
    return ProfileFigures(
        name,
        count,
        counts.runs,
        counts.unsupported,
        wilson(count, 1 - alpha),
        _over_scenarios([each for _, each in scenarios if each.runs], alpha),
        scenarios,
        nearest_rank(times, 95) or 0,
    )


def _over_scenarios(counts: Sequence[Count], alpha: float) -> Interval | None:
    if not counts:
        return None
    bounds = cluster_mean_bounds([each.passed / each.runs for each in counts], alpha)
    return Interval(*bounds, 1 - alpha, "scenarios as clusters")


def _split_half(profiles: Mapping[str, Sequence[CellSummary]]) -> Count | None:
    """The best profile of the odd trials in the even ones, and the other way round."""
    if len(profiles) == 1:
        return None
    halves = [{name: _passes(cells, odd=odd) for name, cells in profiles.items()} for odd in (True, False)]
    if not all(count.runs for half in halves for count in half.values()):
        return None
    found = []
    for chosen_in, measured_in in (halves, halves[::-1]):
        best = max(chosen_in, key=lambda name: chosen_in[name].rate or 0.0)
        found.append(measured_in[best])
    return total(found)


def _passes(cells: Iterable[CellSummary], *, odd: bool) -> Count:
    entries = [entry for cell in cells for entry in cell.entries if entry.trial % 2 == odd and _valid(entry)]
    return Count.of(entry.ok for entry in entries)


def _valid(entry: RunEntry) -> bool:
    return entry.ok or entry.result == "fail"
