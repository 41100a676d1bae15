"""Differences between the strategies of a plan, and between two stored configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core.evals import EvalPlan, Key, keys_between


@dataclass(frozen=True, slots=True)
class StrategyDifference:
    """What changes from one strategy to the next, and the models for which it does."""

    before: str
    after: str
    models: tuple[str, ...]
    changes: tuple[str, ...]
    """A line for each."""


def strategy_differences(plan: EvalPlan) -> tuple[StrategyDifference, ...]:
    """From each strategy to the next; models for which the same changes stand together."""
    found, first = list[StrategyDifference](), next(iter(plan.cells()))
    for before, after in pairwise(strategy.name for strategy in plan.strategies):
        groups: dict[tuple[Key, ...], list[str]] = {}
        for model in plan.models:
            cell = replace(first, model=model, profile=plan.profiles[model][0].name)
            one, other = (plan.configuration(replace(cell, strategy=name)) for name in (before, after))
            groups.setdefault(keys_between(one, other), []).append(model)
        for keys, models in groups.items():
            lines = (f"{key}: {key.change}" if key.change else str(key) for key in keys)
            found.append(StrategyDifference(before, after, tuple(models), tuple(lines)))
    return tuple(found)


_DEFAULT = "(default)"


def configuration_differences(before: JsonText, after: JsonText) -> tuple[str, ...]:
    """The places at which two configurations differ, with both values.

    >>> configuration_differences(canonical({"config": {"max_turns": 4}}), canonical({"config": {}}))
    ('config.max_turns: 4 -> (default)',)
    """
    old, new = _leaf_values(parse(before)), _leaf_values(parse(after))
    return tuple(
        f"{place}: {old.get(place, _DEFAULT)} -> {new.get(place, _DEFAULT)}"
        for place in dict.fromkeys((*old, *new))
        if old.get(place) != new.get(place)
    )


def _leaf_values(tree: Json, place: str = "") -> dict[str, str]:
    """Each value that is no object, by its place."""
    if not isinstance(tree, Mapping):
        return {place: canonical(tree)}
    inner = [_leaf_values(value, f"{place}.{key}" if place else key) for key, value in tree.items()]
    return {key: text for each in inner for key, text in each.items()}
