"""What runs cost against how often they pass: a point for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final, Literal, TypeAlias

from toolreel.evals._report.svg import (
    Drawing,
    group,
    interval_words,
    line,
    marker,
    percent,
    series_class,
    text,
    thousands,
    width_of,
)
from toolreel.evals._runner.adaptive import rule_of
from toolreel.evals._statistics.intervals import Clustered
from toolreel.evals._summary.cell_rates import over_clusters
from toolreel.evals._summary.summary_statistics import counted_cells
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._summary.summary import Summary, TaskSummary

Unit: TypeAlias = Literal["cost", "tokens"]

_WIDE: Final = 380.0
_HIGH: Final = 280.0
_LEFT: Final = 56.0
_TOP: Final = 40.0
_CLOSE: Final = 14
_FAR: Final = 20
"""Times the least, from which on the largest asks for a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """One task."""

    number: int
    label: str
    strategy: str
    runs: int
    rate: float
    interval: Interval | None
    cost: float | None
    """Of a run, in the provider's currency; ``None`` if it did not tell."""
    tokens: float
    """Of a run, in and out."""


@dataclass(frozen=True, slots=True)
class Costs:
    """All tasks that have a valid run."""

    unit: Unit
    """Money only where all costs are known."""
    strategies: tuple[str, ...]
    points: tuple[CostPoint, ...]

    def of(self, point: CostPoint) -> float:
        """Where a point stands on the axis."""
        return point.tokens if self.unit == "tokens" or point.cost is None else point.cost

    @property
    def axis(self) -> str:
        """What the axis is called."""
        return "tokens a run" if self.unit == "tokens" else "cost a run, in the provider's currency"


def costs_of(summary: Summary, plan: EvalPlan) -> Costs:
    """What each task costs; runs of controls count in it, as they do in no rate."""
    rule = rule_of(plan)
    rated = [(task, over_clusters(counted_cells(task.cells), rule)) for task in summary.tasks]
    valid = [(task, found) for task, found in rated if found]
    points = tuple(_point(number, *each, plan) for number, each in enumerate(valid, 1))
    known = bool(points) and all(point.cost is not None for point in points)
    strategies = tuple(dict.fromkeys(task.cell.strategy for task in summary.tasks))
    return Costs("cost" if known and any(point.cost for point in points) else "tokens", strategies, points)


def costs_drawing(found: Costs) -> Drawing:
    """The picture: each point has the number that it has in the list next to it."""
    axis = _Axis.over([found.of(point) for point in found.points])
    parts = [_frame(axis, found.axis)]
    for point in found.points:
        parts.append(_drawn(point, axis.at(found.of(point)), found.strategies.index(point.strategy)))
    parts += _numbered(found, axis)
    below = _TOP + _HIGH + 66
    for row, point in enumerate(found.points):
        y = below + 18 * row
        place = found.strategies.index(point.strategy)
        parts.append(marker(place, 20, y - 4, series_class(place)))
        parts.append(text(32, y, f"{point.number} {point.label}", "ink small"))
    names = max([width_of(f"{point.number} {point.label}") for point in found.points], default=0)
    width, height = max(_LEFT + _WIDE + 24, names + 44), below + 18 * len(found.points)
    about = "; ".join(
        f"{point.label}: {thousands(found.of(point))} {found.axis}, {percent(point.rate)}"
        for point in found.points
    )
    title = f"Pass rate against {found.axis.partition(',')[0]}"
    return Drawing("cost", width, height, title, about or "No valid run.", "".join(parts))


def _point(number: int, task: TaskSummary, found: Clustered, plan: EvalPlan) -> CostPoint:
    usage, runs = task.usage, task.counts().runs
    return CostPoint(
        number,
        plan.label(task.cell),
        task.cell.strategy,
        runs,
        found.rate,
        found.interval,
        None if usage.cost is None else usage.cost / runs,
        (usage.prompt_tokens + usage.completion_tokens) / runs,
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, values: Sequence[float]) -> _Axis:
        least, max_runs = min(values, default=0.0), max(values, default=1.0)
        if least > 0 and max_runs / least > _FAR:
            return cls(10.0 ** floor(log10(least)), 10.0 ** ceil(log10(max_runs)), True)
        return cls(0.0, _round_up(max_runs) or 1.0, False)

    def at(self, value: float) -> float:
        if self.logarithmic:
            return _LEFT + _WIDE * (log10(value / self.low) / log10(self.high / self.low))
        return _LEFT + _WIDE * value / self.high

    def ticks(self) -> list[float]:
        if self.logarithmic:
            first, last = round(log10(self.low)), round(log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        return [self.high * part / 5 for part in range(6)]


def _round_up(value: float) -> float:
    """The next value above with one or two digits that is easy to divide."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** floor(log10(value))
    return next(step * unit for step in (1, 2, 2.5, 5, 10) if step * unit >= value)


def _y(rate: float) -> float:
    return _TOP + _HIGH * (1 - rate)


def _frame(axis: _Axis, name: str) -> str:
    parts = [text(12, 18, "Pass rate", "ink bold")]
    for tenths in range(0, 11, 2):
        y = _y(tenths / 10)
        parts.append(line(_LEFT, y, _LEFT + _WIDE, y, "grid"))
        parts.append(text(_LEFT - 8, y + 4, percent(tenths / 10), "soft small end"))
    for value in axis.ticks():
        x = axis.at(value)
        parts.append(line(x, _TOP, x, _TOP + _HIGH, "grid"))
        parts.append(text(x, _TOP + _HIGH + 16, thousands(value), "soft small middle"))
    scale = ", logarithmic" if axis.logarithmic else ""
    parts.append(text(_LEFT + _WIDE / 2, _TOP + _HIGH + 36, f"{name}{scale}", "soft middle"))
    return "".join(parts)


def _drawn(point: CostPoint, x: float, place: int) -> str:
    kind, interval, y = series_class(place), point.interval, _y(point.rate)
    reach = line(x, _y(interval.low), x, _y(interval.high), f"line-{kind}") if interval else ""
    title = f"{point.label}: {percent(point.rate)} ({interval_words(interval)})"
    return group(reach, marker(place, x, y, kind), title=title)


def _numbered(found: Costs, axis: _Axis) -> Iterator[str]:
    """Numbers next to the points; those of points that lie on each other are in one row."""
    places: dict[tuple[float, float], list[int]] = {}
    for point in found.points:
        x, y = axis.at(found.of(point)), _y(point.rate)
        close = (at for at in places if abs(at[0] - x) < _CLOSE and abs(at[1] - y) < _CLOSE)
        places.setdefault(next(close, (x, y)), []).append(point.number)
    for (x, y), numbers in places.items():
        yield text(x + 8, y - 6, ", ".join(map(str, numbers)), "ink small bold")
