"""The best of several sampling profiles of a model, without the luck that made it the best.

Of four profiles that are equally good, the best of one evaluation looks better than it is, since it is the
one with the most luck. So it is chosen on the odd trials and judged on the even ones, and the other way
round; the mean of both is what a choice like this is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from toolreel.evals._summary.cell_rates import over_clusters
from toolreel_core.evals._statistics.declared_stopping_rules import Rule
from toolreel_core.evals._summary.summary import CellSummary


@dataclass(frozen=True, slots=True)
class BestProfile:
    """The sampling profile of a model with the highest rate."""

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


def best_profiles(cells: Iterable[CellSummary], rule: Rule | None) -> tuple[BestProfile, ...]:
    """The best profile of each model that was run with several."""
    models: dict[str, dict[str, list[CellSummary]]] = {}
    for cell in cells:
        models.setdefault(cell.cell.model, {}).setdefault(cell.cell.profile, []).append(cell)
    found = (_best_profile(model, profiles, rule) for model, profiles in models.items() if len(profiles) > 1)
    return tuple(one for one in found if one)


def _best_profile(
    model: str, profiles: Mapping[str, Sequence[CellSummary]], rule: Rule | None
) -> BestProfile | None:
    rates = _rates(profiles, rule)
    if len(rates) < 2:
        return None
    best = max(rates, key=lambda name: rates[name])
    # Halves of a cell that has stopped early are not what the rule has looked at.
    odd, even = (
        _rates({name: _half(cells, rest) for name, cells in profiles.items()}, None) for rest in (1, 0)
    )
    judged = [_judged(odd, even), _judged(even, odd)]
    known = [rate for rate in judged if rate is not None]
    return BestProfile(model, len(rates), best, rates[best], fmean(known) if len(known) == 2 else None)


def _judged(chosen_by: Mapping[str, float], judged_by: Mapping[str, float]) -> float | None:
    """The rate of what one half of the trials takes for the best, on the other half."""
    best = max(chosen_by, key=lambda name: chosen_by[name], default="")
    return judged_by.get(best)


def _rates(profiles: Mapping[str, Sequence[CellSummary]], rule: Rule | None) -> dict[str, float]:
    found = {name: over_clusters(cells, rule) for name, cells in profiles.items()}
    return {name: total.rate for name, total in found.items() if total}


def _half(cells: Sequence[CellSummary], rest: int) -> list[CellSummary]:
    return [
        replace(cell, entries=tuple(entry for entry in cell.entries if entry.trial % 2 == rest))
        for cell in cells
    ]
