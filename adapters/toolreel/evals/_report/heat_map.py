"""Models by scenarios: how often each cell passed, how sure that is, and how its runs went."""

from __future__ import annotations

from dataclasses import dataclass
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
from toolreel.evals._summary.cell_rates import cell_interval, cell_rate
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.declared_stopping_rules import Rule
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._summary.summary import CellSummary, Summary
from toolreel_core.evals._summary.totals import ResultCounts

_WIDE: Final = 108.0
_HIGH: Final = 44.0
_BAR: Final = 4.0


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell of the evaluation."""

    cell: Cell
    counts: ResultCounts
    rate: float | None
    interval: Interval | None
    key: str
    """Of the run that is worth reading first: the first that is no pass, or else the first."""

    @classmethod
    def of(cls, cell: CellSummary, rule: Rule | None) -> HeatCell:
        """The cell of a summary."""
        bad = [entry.key for entry in cell.entries if entry.result != "pass"]
        rate, interval = cell_rate(cell, rule).rate, cell_interval(cell, rule)
        return cls(cell.cell, cell.counts, rate, interval, (bad or [cell.entries[0].key])[0])

    @property
    def kind(self) -> str:
        """The class of its colour."""
        return heat_class(self.rate)


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One task."""

    label: str
    cells: tuple[HeatCell | None, ...]
    """By scenario; ``None`` where no run has ended."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """All cells of an evaluation."""

    scenarios: tuple[str, ...]
    rows: tuple[HeatRow, ...]


def heat_map(summary: Summary, plan: EvalPlan) -> HeatMap:
    """The cells of a summary, tasks by scenarios, both in the order of the plan."""
    ran = dict.fromkeys(cell.cell.scenario for cell in summary.cells)
    planned = [each.name for each in plan.scenarios if each.name in ran]
    scenarios = tuple(dict.fromkeys((*planned, *ran)))
    rows, rule = [], rule_of(plan)
    for task in summary.tasks:
        known = {cell.cell.scenario: HeatCell.of(cell, rule) for cell in task.cells}
        rows.append(HeatRow(label_of(task.cell, plan), tuple(known.get(name) for name in scenarios)))
    return HeatMap(scenarios, tuple(rows))


def label_of(cell: Cell, plan: EvalPlan) -> str:
    """What a task is called: by whatever is not the same for all of them."""
    language = f" {cell.language}" if len(plan.languages) > 1 else ""
    return f"{plan.label(cell)}{language}"


def heat_drawing(found: HeatMap) -> Drawing:
    """The picture of a heat map."""
    left = 24 + max([width_of(row.label) for row in found.rows], default=0)
    # Names stand at 40 degrees, so each needs about two thirds of its length above the cells.
    top = 40 + 0.66 * max([width_of(name) for name in found.scenarios], default=0)
    parts = [
        text(left + at * _WIDE + _WIDE / 2, top - 8, name, turned=-40)
        for at, name in enumerate(found.scenarios)
    ]
    for number, row in enumerate(found.rows):
        y = top + number * _HIGH
        parts.append(text(left - 10, y + _HIGH / 2 + 4, row.label, "ink end"))
        parts += [_drawn(cell, left + at * _WIDE, y) for at, cell in enumerate(row.cells) if cell is not None]
    bottom = top + len(found.rows) * _HIGH
    parts.append(_legend(12, bottom + 14))
    names = " and ".join((f"{len(found.rows)} tasks", f"{len(found.scenarios)} scenarios"))
    overhang = 0.77 * max([width_of(name) for name in found.scenarios[-1:]], default=0)
    width = max(left + len(found.scenarios) * _WIDE + max(12, overhang - _WIDE / 2 + 12), 560)
    about = f"Pass rates of {names}, with 95 % intervals, the number of valid runs, and how all runs went."
    return Drawing("heatmap", width, bottom + 40, "Pass rates by task and scenario", about, "".join(parts))


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
    middle, rate = x + _WIDE / 2, cell.rate
    title = f"{cell.cell.scenario}: {split_words(cell.counts)}"
    bounds = interval_words(cell.interval).removesuffix(" %")
    return group(
        rect(x + 1, y + 1, _WIDE - 2, _HIGH - 2, cell.kind),
        text(middle, y + 16, percent(rate), "ink bold middle"),
        text(middle, y + 31, f"{bounds}, n {cell.counts.valid}" if bounds else "n 0", "ink small middle"),
        split_bar(cell.counts, x + 4, y + _HIGH - 3 - _BAR, _WIDE - 8, _BAR),
        title=title,
    )


def _legend(x: float, y: float) -> str:
    parts, at = [], x
    for kind, words in RESULTS.items():
        parts.append(rect(at, y, 10, 10, kind) + text(at + 15, y + 9, words, "soft"))
        at += 30 + width_of(words)
    return "".join(parts)
