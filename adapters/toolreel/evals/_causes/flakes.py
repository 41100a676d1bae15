"""Flaky cells of an evaluation: cells whose trials pass and fail, and where these part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from toolreel._internal.errors import CassetteError
from toolreel.evals._replay.replay import rerun
from toolreel.evals._runner.evaluation import recorded_job
from toolreel.evals._store.results import Results
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core.evals._causes.flakiness import (
    CellState,
    FlakyCell,
    Question,
    Trial,
    parting,
    state_of,
    within_cell_correlation,
)
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._statistics.counts import Count


@dataclass(frozen=True, slots=True)
class Flakes:
    """All cells of an evaluation."""

    question: Question
    cells: tuple[FlakyCell, ...]
    """Cells with valid runs, in the order of the journal."""
    correlations: Mapping[str, float | None]
    """How alike the runs of a cell are, by strategy."""

    def of(self, state: CellState) -> tuple[FlakyCell, ...]:
        """The cells of which this is known."""
        return tuple(cell for cell in self.cells if cell.state == state)


def flakes_of(
    results: Results,
    plan: EvalPlan,
    question: Question | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Flakes:
    """Find the flaky cells; void and unsupported runs are left out.

    :param progress: called with the number of cells so far
    :raises ResultsError: if the journal cannot be read
    """
    question = question or Question()
    records: dict[Cell, list[Record]] = {}
    for record in results.records():
        if record.verdict.valid:
            records.setdefault(record.cell, []).append(record)
    cells = list[FlakyCell]()
    for cell, of_cell in records.items():
        cells.append(_cell(results, plan, cell, sorted(of_cell, key=lambda one: one.trial), question))
        progress(len(cells))
    strategies = dict.fromkeys(cell.strategy for cell in records)
    correlations = {
        name: within_cell_correlation(one.count for one in cells if one.cell.strategy == name)
        for name in strategies
    }
    return Flakes(question, tuple(cells), correlations)


def _cell(
    results: Results, plan: EvalPlan, cell: Cell, records: Sequence[Record], question: Question
) -> FlakyCell:
    count = Count.of(map(_passed, records))
    keys = {record.trial: record.key for record in records}
    found = FlakyCell(cell, count, state_of(count, question), keys=keys)
    if found.state != "flaky":
        return found
    try:
        trials = [_trial(record, plan, results) for record in records]
    except (CassetteError, ConfigError, ReplayMismatch) as error:
        return replace(found, why=str(error).splitlines()[0])
    parts = parting(trials)
    return replace(found, parting=parts, why="" if parts else "all trials did the same")


def _passed(record: Record) -> bool:
    return record.verdict.result != "fail"


def _trial(record: Record, plan: EvalPlan, results: Results) -> Trial:
    case = recorded_job(plan, record).case
    opening = "\n".join(message.content for message in case.messages)
    turns = rerun(record, plan, results.path).evidence.turns
    return Trial(record.trial, record.key, _passed(record), opening, turns)
