"""Flaky cells as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from toolreel.evals._causes.flakes import Flakes
from toolreel.evals._statistics.intervals import wilson
from toolreel.evals._summary.summary_files import interval_tree
from toolreel.evals._tables.table import TextTable, interval_text, out_of
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._causes.flakiness import CellState, FlakyCell, Parting, Variant

_AXES = ("model", "profile", "strategy", "scenario")
_UNMIXED: tuple[CellState, ...] = ("broken", "sound", "undecided")


def flake_lines(found: Flakes) -> tuple[str, ...]:
    """How many cells are what, how alike the runs of a cell are, and how many runs tell more."""
    question = found.question
    runs, passes = question.runs
    counts = ", ".join(f"{len(found.of(state))} {state}" for state in ("flaky", *_UNMIXED))
    correlations = ", ".join(
        f"{name} {'unknown' if value is None else f'{value:.2f}'}"
        for name, value in found.correlations.items()
    )
    return (
        f"{len(found.cells)} cells with valid runs: {counts}",
        f"within-cell correlation (0: trials are as different as cells, 1: all alike): {correlations}",
        f"To tell a broken cell (passes at most {_rate(question.broken)}) from a flaky one (at least "
        f"{_rate(question.flaky)}) takes {runs} runs: it is flaky from {passes} passes on; errors at most "
        f"{_rate(question.alpha)} and {_rate(question.beta)}.",
        f"A cell without a pass, or without a failure, is undecided below {question.clean_runs} runs.",
    )


def flake_tables(found: Flakes) -> tuple[TextTable, ...]:
    """The flaky cells, and those that always or never pass; empty tables are left out."""
    tables = (
        _flaky(found.of("flaky")),
        _unmixed([cell for state in _UNMIXED for cell in found.of(state)], found),
    )
    return tuple(table for table in tables if table.rows)


def flake_tree(found: Flakes) -> dict[str, Json]:
    """All of it."""
    question = found.question
    runs, passes = question.runs
    return {
        "question": {**asdict(question), "runs": runs, "passes": passes, "clean_runs": question.clean_runs},
        "correlations": dict(found.correlations),
        "cells": [_tree(cell) for cell in found.cells],
    }


def _flaky(cells: Iterable[FlakyCell]) -> TextTable:
    head = (*_AXES, "passed", "95%", "parts at turn", "decided at turn", "passed after", "failed after")
    rows = tuple(
        (
            *_axes(cell),
            out_of(cell.count.passed, cell.count.runs),
            interval_text(wilson(cell.count)),
            *_parts(cell),
        )
        for cell in cells
    )
    notes = (
        "before the turn at which they part, trials are equal but for words drawn from their seeds",
        "decided: trials that did the same up to this turn all passed or all failed",
    )
    return TextTable("flaky cells", head, rows, notes)


def _parts(cell: FlakyCell) -> tuple[str, ...]:
    if cell.parting is None:
        return "-", "-", cell.why, ""
    parts = cell.parting
    decided = "-" if parts.deciding is None else str(parts.deciding)
    return str(parts.turn), decided, _said(parts, passed=True), _said(parts, passed=False)


def _said(parts: Parting, *, passed: bool) -> str:
    """What trials did in the turn at which they part, with their numbers."""
    found = [(variant.passed if passed else variant.failed, variant.what) for variant in parts.variants]
    return "; ".join(f"{','.join(map(str, trials))}: {what}" for trials, what in found if trials)


def _unmixed(cells: Iterable[FlakyCell], found: Flakes) -> TextTable:
    needed = found.question.clean_runs
    rows = tuple(
        (
            *_axes(cell),
            out_of(cell.count.passed, cell.count.runs),
            interval_text(wilson(cell.count)),
            cell.state,
            str(needed - cell.count.runs) if cell.state == "undecided" else "-",
        )
        for cell in cells
    )
    head = (*_AXES, "passed", "95%", "known", "runs to decide")
    note = "runs to decide: if none of them is different, the cell is broken or sound"
    return TextTable("cells that always or never pass", head, rows, (note,))


def _axes(cell: FlakyCell) -> tuple[str, ...]:
    return tuple(getattr(cell.cell, axis) for axis in _AXES)


def _rate(share: float) -> str:
    return f"{100 * share:g} %"


def _tree(cell: FlakyCell) -> Tree:
    return {
        **asdict(cell.cell),
        "passed": cell.count.passed,
        "valid": cell.count.runs,
        "interval": interval_tree(wilson(cell.count)),
        "state": cell.state,
        "parting": _parting_tree(cell.parting),
        "why": cell.why or None,
        "keys": {str(trial): key for trial, key in (cell.keys or {}).items()},
    }


def _parting_tree(parts: Parting | None) -> Json:
    if parts is None:
        return None
    return {"turn": parts.turn, "decided": parts.deciding, "variants": [*map(_variant_tree, parts.variants)]}


def _variant_tree(variant: Variant) -> Tree:
    return {"what": variant.what, "passed": list(variant.passed), "failed": list(variant.failed)}
