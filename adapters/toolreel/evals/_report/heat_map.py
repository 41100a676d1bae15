"""Scenarios by tasks: how often each cell passed, how sure that is, and how its runs went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from toolreel.evals._statistics.intervals import mean_over_scenarios
from toolreel.evals._summary.summary_statistics import cell_rate, counted_cells
from toolreel.evals._tables.formats import RESULTS
from toolreel_core.evals import CellSummary, EvalPlan, ResultCounts, Summary, TaskSummary

_UNKNOWN: Final = "no longer in the plan"


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
    cells: tuple[CellSummary | None, ...]
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

    def row(name: str) -> HeatRow:
        return HeatRow(name, about.get(name, ("", ""))[1], tuple(task.get(name) for task in cells))

    def rates(scenarios: Sequence[str]) -> Iterator[float | None]:
        for task in cells:
            counted = counted_cells(task[name] for name in scenarios if name in task)
            yield mean_over_scenarios(cell_rate(cell) for cell in counted)

    return HeatMap(
        tuple(_columns(summary.tasks, plan)),
        tuple(HeatPack(pack, tuple(rates(each)), tuple(map(row, each))) for pack, each in packs.items()),
    )


def _columns(tasks: Iterable[TaskSummary], plan: EvalPlan) -> Iterator[HeatColumn]:
    for task in tasks:
        label, model = plan.label(task.cell), task.cell.model
        yield HeatColumn(model, label.removeprefix(model).lstrip(": "), label)


def split_bar(counts: ResultCounts) -> str:
    """How runs went, as one bar in parts: an SVG element."""
    parts, at = ['<rect width="96" height="7" class="paper"/>'], 1.0
    for kind, count in _split(counts).items():
        wide = 94 * count / max(1, counts.runs)
        if count:
            parts.append(f'<rect x="{at:.2f}" y="1" width="{wide:.2f}" height="5" class="{kind}"/>')
        at += wide
    return f'<svg viewBox="0 0 96 7" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'


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
