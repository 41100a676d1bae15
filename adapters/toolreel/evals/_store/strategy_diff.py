"""In what the strategies of a plan differ, model by model, before anything is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from toolreel_core._plan.presets.diff import Change, differences
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.configuration import Configuration
from toolreel_core.evals._plan.plan import EvalPlan

__all__ = ["StrategyDifference", "configuration_under", "strategy_differences"]


@dataclass(frozen=True, slots=True)
class StrategyDifference:
    """What changes from one strategy to the next, and the models for which it does."""

    before: str
    after: str
    models: tuple[str, ...]
    changes: tuple[Change, ...]


def strategy_differences(plan: EvalPlan) -> tuple[StrategyDifference, ...]:
    """From each strategy to the next; models for which the same changes stand together."""
    return tuple(
        found
        for before, after in pairwise(strategy.name for strategy in plan.strategies)
        for found in _between(plan, before, after)
    )


def configuration_under(plan: EvalPlan, model: str, strategy: str) -> Configuration:
    """The configuration of a model's first cell under a strategy."""
    profile, scenario = plan.profiles[model][0].name, plan.scenarios[0].name
    return plan.configuration(Cell(model, profile, strategy, plan.fallbacks[0], plan.languages[0], scenario))


def _between(plan: EvalPlan, before: str, after: str) -> Iterator[StrategyDifference]:
    groups: dict[tuple[Change, ...], list[str]] = {}
    for model in plan.models:
        one, other = (configuration_under(plan, model, name).preset for name in (before, after))
        groups.setdefault(differences(one, other), []).append(model)
    for changes, models in groups.items():
        yield StrategyDifference(before, after, tuple(models), changes)
