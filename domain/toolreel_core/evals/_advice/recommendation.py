"""Recommendations: whether to use a model for tools, decided by intervals and never by a rate alone.

With a level such as 0.75, and the interval of the best profile's rate:

- ``no``: the whole interval is below the level, or the model takes no tools;
- ``yes``: the whole interval is at the level or above it;
- ``conditional``: so it is, but with another of its profiles the whole interval is below the level, or too
  many runs were refused by the provider;
- ``yes_for_tools``: it is ``yes``, but the interval of the control is below the level as a whole;
- ``undecided``: the level lies inside the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Final, Literal, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.interval import Interval

Advice: TypeAlias = Literal["yes", "yes_for_tools", "conditional", "no", "undecided"]
Scope: TypeAlias = Literal["these", "like-these"]
"""What a recommendation is about: the scenarios that were run, or scenarios like these."""


@dataclass(frozen=True, slots=True)
class Levels:
    """What decides.

    :raises ConfigError: if a level is no share
    """

    works: float = 0.75
    """A model that passes at least this often works."""
    coverage: float = 0.95
    """A smaller share of valid runs makes a condition of it."""
    scope: Scope = "these"

    def __post_init__(self) -> None:
        for name in ("works", "coverage"):
            value: float = getattr(self, name)
            if not 0 < value < 1:
                raise ConfigError(f"--{name}: expected a share between 0 and 1, got {value:g}")


@dataclass(frozen=True, slots=True)
class ProfileFigures:
    """What a model did with one sampling profile, in tool scenarios."""

    profile: str
    count: Count
    """Of valid runs."""
    runs: int
    """Valid or not."""
    unsupported: int
    these: Interval | None
    """Of the rate in these scenarios, wide enough for the choice among all profiles; ``None`` if there is no
    valid run."""
    like_these: Interval | None
    """Of the rate in scenarios like these: each scenario counts once."""
    scenarios: tuple[tuple[str, Count], ...]
    p95_ms: int

    def interval(self, scope: Scope) -> Interval | None:
        """The one that decides."""
        return self.these if scope == "these" else self.like_these

    @property
    def coverage(self) -> float:
        """The share of runs that are valid."""
        return self.count.runs / self.runs


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What a model did."""

    model: str
    profiles: tuple[ProfileFigures, ...]
    """In the order of the plan; at least one."""
    control: Interval | None
    """Of the rate in conversations without tools, with the best profile; ``None`` without such runs."""
    control_count: Count
    split_half: Count | None
    """Passes of the profile that is the best in one half of the trials, in the other half; both ways added
    up. ``None`` with one profile, or too few trials."""
    workarounds: tuple[str, ...]
    """Presets that the model got."""
    without: Count | None
    """The best profile's valid runs under the strategy without help, if it was run."""
    endpoint: str = ""
    """Where it was measured, if there are several."""

    @property
    def best(self) -> ProfileFigures:
        """The profile with the highest rate; of equal ones, the first."""
        return max(self.profiles, key=lambda one: (one.count.rate is not None, one.count.rate or 0.0))


@dataclass(frozen=True, slots=True)
class Recommended:
    """The recommendation for one model."""

    figures: ModelFigures
    advice: Advice
    why: str
    """In a sentence."""
    profiles: tuple[str, ...]
    """The best first, then those that work as well."""

    @property
    def model(self) -> str:
        """Its name."""
        return self.figures.model


def recommended(figures: ModelFigures, levels: Levels) -> Recommended:
    """The recommendation for a model, by the rules of this module."""
    best = figures.best
    advice, why = _decided(figures, best, levels)
    others = [each.profile for each in figures.profiles if each is not best and _works(each, levels)]
    return Recommended(figures, advice, why, (best.profile, *(others if advice != "no" else ())))


_LACKING: Final = "its provider refused or failed {0} of {1} runs"


def _decided(figures: ModelFigures, best: ProfileFigures, levels: Levels) -> tuple[Advice, str]:
    interval = best.interval(levels.scope)
    level = f"{100 * levels.works:g} %"
    if interval is None:
        if best.unsupported:
            return "no", f"it took no tools in {best.unsupported} of {best.runs} runs"
        return "undecided", f"none of its {best.runs} runs is valid"
    if interval.high < levels.works:
        return "no", f"it passes less than {level}{_missing(best)}"
    if interval.low < levels.works:
        return "undecided", f"{level} lies in the interval{_missing(best)}; {_more(best, levels)}"
    conditions = [*_conditions(figures, best, levels)]
    if conditions:
        return "conditional", "; ".join(conditions)
    if figures.control and figures.control.high < levels.works:
        control = figures.control_count
        return "yes_for_tools", f"the control passes {control.passed} of {control.runs}"
    return "yes", f"it passes at least {level}"


def _conditions(figures: ModelFigures, best: ProfileFigures, levels: Levels) -> Sequence[str]:
    weak = [each for each in figures.profiles if _fails(each, levels)]
    found = [f"not with {', '.join(each.profile for each in weak)}"] if weak else []
    if best.coverage < levels.coverage:
        found.append(_LACKING.format(best.runs - best.count.runs, best.runs))
    return found


def _works(figures: ProfileFigures, levels: Levels) -> bool:
    interval = figures.interval(levels.scope)
    return interval is not None and interval.low >= levels.works


def _fails(figures: ProfileFigures, levels: Levels) -> bool:
    interval = figures.interval(levels.scope)
    return interval is not None and interval.high < levels.works


def _missing(figures: ProfileFigures) -> str:
    """The scenario that most misses are in, if it is more than half of them."""
    misses = {name: count.runs - count.passed for name, count in figures.scenarios}
    worst = max(misses, key=lambda name: misses[name])
    missed = sum(misses.values())
    return f", {misses[worst]} of {missed} misses in {worst}" if misses[worst] * 2 > missed > 1 else ""


def _more(figures: ProfileFigures, levels: Levels) -> str:
    """What would decide."""
    if levels.scope == "like-these":
        return "more scenarios would decide"
    rate = figures.count.passed / figures.count.runs
    distance = abs(rate - levels.works)
    if distance < 0.02:
        return "it is too close to the level for more runs to decide"
    # Where Wilson's interval ends at the level: the score test with the level's own variance.
    runs = ceil(levels.works * (1 - levels.works) * (1.96 / distance) ** 2)
    if rate in {0.0, 1.0}:
        runs = max(runs, ceil(log(0.025) / log(levels.works if rate else 1 - levels.works)))
    return f"at this rate, about {runs} runs would decide"
