"""Scenarios by tasks: how often each cell passed, how sure that is, and how its runs went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from toolreel.evals._report.svg import (
    RESULTS,
    Drawing,
    group,
    heat_class,
    interval_words,
    percent,
    rect,
    text,
    width_of,
)
from toolreel.evals._runner.adaptive import rule_of
from toolreel.evals._statistics.intervals import mean_over_scenarios
from toolreel.evals._summary.cell_rates import cell_interval, cell_rate
from toolreel.evals._summary.summary_statistics import counted_cells
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.declared_stopping_rules import Rule
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._summary.summary import CellSummary, Summary, TaskSummary
from toolreel_core.evals._summary.totals import ResultCounts

_WIDE: Final = 108.0
_HIGH: Final = 40.0
_BAR: Final = 4.0
_UNKNOWN: Final = "no longer in the plan"


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell of the evaluation."""

    cell: Cell
    counts: ResultCounts
    rate: float | None
    interval: Interval | None

    @classmethod
    def of(cls, cell: CellSummary, rule: Rule | None) -> HeatCell:
        """The cell of a summary."""
        return cls(cell.cell, cell.counts, cell_rate(cell, rule).rate, cell_interval(cell, rule))

    @property
    def kind(self) -> str:
        """The class of its colour."""
        return heat_class(self.rate)

    @property
    def bounds(self) -> str:
        """Its interval, without a unit."""
        return interval_words(self.interval).removesuffix(" %")


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """One task: a model under a strategy, and what else varies."""

    model: str
    variant: str
    """Everything but the model; empty if nothing else varies."""
    label: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One scenario."""

    scenario: str
    about: str
    cells: tuple[HeatCell | None, ...]
    """By column; ``None`` where no run has ended."""


@dataclass(frozen=True, slots=True)
class HeatPack:
    """The scenarios of one pack."""

    name: str
    rates: tuple[float | None, ...]
    """By column: the mean over the pack's scenarios."""
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """All cells of an evaluation."""

    columns: tuple[HeatColumn, ...]
    packs: tuple[HeatPack, ...]

    @property
    def rows(self) -> tuple[HeatRow, ...]:
        """All scenarios."""
        return tuple(row for pack in self.packs for row in pack.rows)

    @property
    def models(self) -> tuple[tuple[str, int], ...]:
        """Neighbouring columns of one model: its name, and how many they are."""
        found = groupby(self.columns, key=lambda column: column.model)
        return tuple((model, len([*columns])) for model, columns in found)


def heat_map(summary: Summary, plan: EvalPlan) -> HeatMap:
    """The cells of a summary by scenario and task: both in the order of the plan, scenarios by pack."""
    about = {each.name: (each.pack, each.about) for each in plan.scenarios}
    ran = dict.fromkeys(cell.cell.scenario for cell in summary.cells)
    names = dict.fromkeys((*(name for name in about if name in ran), *ran))
    packs: dict[str, list[str]] = {}
    for name in names:
        packs.setdefault(about.get(name, (_UNKNOWN, ""))[0], []).append(name)
    cells = [{cell.cell.scenario: cell for cell in task.cells} for task in summary.tasks]
    rule = rule_of(plan)

    def row(name: str) -> HeatRow:
        found = (task.get(name) for task in cells)
        heated = tuple(HeatCell.of(cell, rule) if cell else None for cell in found)
        return HeatRow(name, about.get(name, ("", ""))[1], heated)

    def rates(scenarios: Sequence[str]) -> Iterator[float | None]:
        for task in cells:
            counted = counted_cells(task[name] for name in scenarios if name in task)
            yield mean_over_scenarios(cell_rate(cell, rule) for cell in counted)

    return HeatMap(
        tuple(_columns(summary.tasks, plan)),
        tuple(HeatPack(pack, tuple(rates(each)), tuple(map(row, each))) for pack, each in packs.items()),
    )


def _columns(tasks: Iterable[TaskSummary], plan: EvalPlan) -> Iterator[HeatColumn]:
    for task in tasks:
        label, model = plan.label(task.cell), task.cell.model
        yield HeatColumn(model, label.removeprefix(model).lstrip(": "), label)


def heat_drawing(found: HeatMap) -> Drawing:
    """The picture of a heat map."""
    left = 24 + max([width_of(row.scenario) for row in found.rows], default=0)
    names = [column.variant or column.model for column in found.columns]
    # Names that are wider than their column stand at 40 degrees: two thirds of their length above the cells.
    turned = any(width_of(name) > _WIDE - 8 for name in names)
    top = 40 + (0.66 * max(map(width_of, names), default=0) if turned else 16)
    parts = [*_heads(names, left, top, turned=turned)]
    y = top
    for pack in found.packs:
        parts.append(text(12, y + 20, pack.name, "ink bold"))
        for at, rate in enumerate(pack.rates):
            parts.append(text(left + (at + 0.5) * _WIDE, y + 20, percent(rate), "soft middle"))
        y += 28
        for row in pack.rows:
            parts.append(text(left - 10, y + _HIGH / 2 + 4, row.scenario, "ink end"))
            parts += [_drawn(cell, left + at * _WIDE, y) for at, cell in enumerate(row.cells) if cell]
            y += _HIGH
        y += 8
    parts.append(_legend(12, y + 10))
    numbers = f"{len(found.columns)} tasks and {len(found.rows)} scenarios"
    overhang = 0.77 * max(map(width_of, names[-1:]), default=0) - _WIDE / 2 if turned else 0.0
    width = max(left + len(found.columns) * _WIDE + 12 + max(0.0, overhang), 560)
    about = f"Pass rates of {numbers}, with 95 % intervals, the number of valid runs, and how all runs went."
    return Drawing("heatmap", width, y + 36, "Pass rates by scenario and task", about, "".join(parts))


def _heads(names: Sequence[str], left: float, top: float, *, turned: bool) -> Iterator[str]:
    for at, name in enumerate(names):
        middle = left + (at + 0.5) * _WIDE
        if turned:
            yield text(middle, top - 8, name, turned=-40)
        else:
            yield text(middle, top - 8, name, "ink bold middle")


def split_bar(counts: ResultCounts, x: float, y: float, width: float, height: float) -> str:
    """How runs went, as one bar in parts."""
    parts, at = [rect(x - 1, y - 1, width + 2, height + 2, "paper")], x
    for kind, count in _split(counts).items():
        part = width * count / max(1, counts.runs)
        if count:
            parts.append(rect(at, y, part, height, kind))
        at += part
    return "".join(parts)


def split_words(counts: ResultCounts) -> str:
    """How runs went, in words.

    >>> split_words(ResultCounts(passed=3, failed=2))
    '3 passed, 2 failed'
    """
    return ", ".join(
        f"{count} {words}"
        for (_, count), words in zip(_split(counts).items(), RESULTS.values(), strict=True)
        if count
    )


def _split(counts: ResultCounts) -> dict[str, int]:
    found = (counts.passed, counts.unexercised, counts.failed, counts.unsupported, counts.void)
    return dict(zip(RESULTS, found, strict=True))


def _drawn(cell: HeatCell, x: float, y: float) -> str:
    middle = x + _WIDE / 2
    title = f"{cell.cell.scenario}: {split_words(cell.counts)}"
    return group(
        rect(x + 1, y + 1, _WIDE - 2, _HIGH - 2, cell.kind),
        text(middle, y + 15, percent(cell.rate), "ink bold middle"),
        text(
            middle,
            y + 28,
            f"{cell.bounds}, n {cell.counts.valid}" if cell.bounds else "n 0",
            "ink small middle",
        ),
        split_bar(cell.counts, x + 4, y + _HIGH - 3 - _BAR, _WIDE - 8, _BAR),
        title=title,
    )


def _legend(x: float, y: float) -> str:
    parts, at = [], x
    for kind, words in RESULTS.items():
        parts.append(rect(at, y, 10, 10, kind) + text(at + 15, y + 9, words, "soft"))
        at += 30 + width_of(words)
    return "".join(parts)
