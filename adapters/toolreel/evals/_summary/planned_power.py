"""What a plan can show, from the spread of differences in an earlier evaluation or an assumption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import fmean, variance
from typing import Final

from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics.power import ASSUMED, Spread, detectable
from toolreel.evals._statistics.scenario_differences import MANY_MODELS
from toolreel.evals._store.results import Results
from toolreel.evals._summary.run_pairs import pair_runs, paired_cells
from toolreel.evals._summary.summary_files import summary_of
from toolreel_core._errors import ConfigError
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.counts import Pairs, total_pairs
from toolreel_core.evals._statistics.differences import PairedCell, clusters_to_reach

_LEVEL: Final = 0.05
_MORE: Final = 2
"""How many times the fewest scenarios that can show anything the planner gives as an example."""


@dataclass(frozen=True, slots=True)
class PlannedPower:
    """What comparisons of a plan can show with a power of 80 % at a level of 5 %."""

    scenarios: int
    models: int
    """If they are a sample too; 0 if not."""
    pairs: int
    """Of each scenario."""
    difference: float | None
    """The smallest that is found, 0 to 1; ``None``: nothing can be found."""
    spread: Spread

    @property
    def sentence(self) -> str:
        """The same in words."""
        there = f"{_counted(self.scenarios, 'scenario')} of {_counted(self.pairs, 'pair')} each"
        there += f", on {self.models} models" if self.models else ""
        basis = (
            f"if differences vary by {100 * self.spread.by_scenario:.0f} points among scenarios, and "
            f"{100 * self.spread.within:.0f} % of trials disagree by chance"
        )
        if self.difference is not None:
            seen = f"differences of about {100 * self.difference:.1f} points can be seen"
            return f"with {there}, {seen} (for scenarios such as these; power 80 %, level 5 %, {basis})"
        least = max(_MORE * clusters_to_reach(_LEVEL), self.scenarios + 1)
        more = _difference(least, 0, self.pairs, self.spread)
        then = (
            f"; with {least} scenarios, differences of about {100 * more:.1f} points, {basis}" if more else ""
        )
        return f"with {there}, nothing can be seen, however many trials they have{then}"


def planned_power(plan: EvalPlan, spread: Spread = ASSUMED) -> PlannedPower | None:
    """What a plan can show; ``None`` if it has no tool scenario.

    What is compared are its strategies; its models, if there is one strategy; or else a later evaluation.
    """
    scenarios = sum(not scenario.control for scenario in plan.scenarios)
    if not scenarios:
        return None
    pairs = plan.count // len(plan.scenarios)
    by_model = len(plan.strategies) == 1 and len(plan.models) > 1
    pairs //= len(plan.models) if by_model else len(plan.strategies)
    models = len(plan.models) if not by_model and len(plan.models) >= MANY_MODELS else 0
    return PlannedPower(scenarios, models, pairs, _difference(scenarios, models, pairs, spread), spread)


def _difference(scenarios: int, models: int, pairs: int, spread: Spread) -> float | None:
    found = [detectable(scenarios, spread.of_cluster(spread.by_scenario, pairs), _LEVEL)]
    if models:
        found.append(
            detectable(models, spread.of_cluster(spread.by_model, pairs * scenarios / models), _LEVEL)
        )
    known = [each for each in found if each is not None]
    return max(known) if len(known) == len(found) else None


def spread_like(folder: Path) -> Spread:
    """How much differences varied in an earlier evaluation, between its strategies or else its models.

    :raises ResultsError: if the directory has no evaluation
    :raises ConfigError: if it has nothing to compare
    """
    results = Results.open(folder)
    summary = summary_of(results, plan_of_header(results.header))
    cells = [cell for cell in summary.cells if not cell.control]
    for axis in ("strategy", "model"):
        groups = {
            value: [entry for cell in cells if getattr(cell.cell, axis) == value for entry in cell.entries]
            for value in dict.fromkeys(getattr(cell.cell, axis) for cell in cells)
        }
        compared = [
            paired_cells(pair_runs(first, second, axis).both, axis)
            for first, second in combinations(groups.values(), 2)
        ]
        spreads = [_spread(found) for found in compared if len({cell.scenario for cell in found}) > 1]
        if spreads:
            return Spread(
                sqrt(fmean(each.by_scenario**2 for each in spreads)),
                sqrt(fmean(each.by_model**2 for each in spreads)),
                fmean(each.within for each in spreads),
            )
    raise ConfigError(
        f"{folder}: no two strategies or models have runs of two scenarios or more; "
        "name an evaluation that compares some"
    )


def _spread(cells: Sequence[PairedCell]) -> Spread:
    runs = total_pairs(cell.pairs for cell in cells).runs
    inside = [
        (each.runs, found) for each in (cell.pairs for cell in cells) if (found := _within(each)) is not None
    ]
    weight = sum(many for many, _ in inside)
    # Cells that all agree leave room for one pair that does not.
    within = max(sum(many * found for many, found in inside) / weight if weight else 0.0, 1 / (runs + 1))
    by_scenario = _between(cells, lambda cell: cell.scenario, within)
    return Spread(by_scenario, _between(cells, lambda cell: cell.model, within), within)


def _within(pairs: Pairs) -> float | None:
    """The variance of a pair's difference in a cell, without bias; ``None`` of a single pair."""
    if pairs.runs < 2 or pairs.difference is None or pairs.discordance is None:
        return None
    return (pairs.discordance - pairs.difference**2) * pairs.runs / (pairs.runs - 1)


def _between(cells: Iterable[PairedCell], cluster: Callable[[PairedCell], str], within: float) -> float:
    """How much clusters differ beyond what their trials explain."""
    groups: dict[str, list[Pairs]] = {}
    for cell in cells:
        groups.setdefault(cluster(cell), []).append(cell.pairs)
    tables = [total_pairs(group) for group in groups.values()]
    if len(tables) < 2:
        return 0.0
    differences = [(table.gained - table.lost) / table.runs for table in tables]
    return sqrt(max(0.0, variance(differences) - fmean(within / table.runs for table in tables)))


def _counted(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'' if many == 1 else 's'}"
