"""Figures as JSON: what stands in the files of a summary beside the fields of the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from toolreel.evals._statistics.clustered import Clustered
from toolreel.evals._statistics.ties import TiesFound
from toolreel.evals._summary.figures import Findings, Total, cell_interval, over_clusters, task_interval
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._statistics.counts import CellMean, Interval
from toolreel_core.evals._summary.reference_format import BY_LANGUAGE, BY_SCENARIO, BY_STRATEGY, SUMMARY
from toolreel_core.evals._summary.summary import CellSummary, Summary, TaskSummary


def with_figures(files: Mapping[str, Tree], summary: Summary, findings: Findings) -> dict[str, Tree]:
    """The files of a summary with intervals in them, and all other figures in ``summary.json``."""
    whole = dict(files[SUMMARY])
    tasks = zip(cast("list[Tree]", whole.pop("models")), summary.tasks, strict=True)
    cells = summary.cells
    return {
        SUMMARY: {
            **whole,
            "figures": figure_tree(findings),
            "models": [{**row, **_of_task(task, findings)} for row, task in tasks],
        },
        BY_SCENARIO: _with_clusters(files[BY_SCENARIO], cells),
        BY_STRATEGY: _by_axis(files[BY_STRATEGY], cells, "strategy"),
        BY_LANGUAGE: _by_axis(files[BY_LANGUAGE], cells, "language"),
    }


def figure_tree(findings: Findings) -> dict[str, Json]:
    """All that is worked out from a summary."""
    return {
        "whole": _total(findings.whole),
        "strategies": {total.name: _total(total) for total in findings.strategies},
        "models": {total.name: _total(total) for total in findings.models},
        "strategy_ties": _ties(findings.strategy_ties),
        "model_ties": _ties(findings.model_ties),
        "taxonomy": {name: dict(found) for name, found in findings.taxonomy.items()},
        "notes": list(findings.notes),
    }


def interval_tree(interval: Interval | None) -> Json:
    """An interval, with the name of its formula."""
    if interval is None:
        return None
    return {
        "low": interval.low,
        "high": interval.high,
        "confidence": interval.confidence,
        "method": interval.method,
    }


def _total(total: Total) -> Tree:
    return {
        **total.counts.tree(),
        "exercised_rate": total.exercised_rate,
        **_clustered(total.clustered),
        "pass_at_1": _over(total.pass_at_1),
        "pass_hat_k": _over(total.pass_hat_k),
        "last_attempt_ms_p50_nearest_rank": total.p50_ms,
        "last_attempt_ms_p95_nearest_rank": total.p95_ms,
        "usage": total.usage.tree(),
    }


def _clustered(found: Clustered | None) -> dict[str, Json]:
    if found is None:
        return {"interval": None}
    return {
        "interval": interval_tree(found.interval),
        "clusters": found.clusters,
        "design_effect": found.design_effect,
    }


def _over(found: CellMean) -> Tree:
    return {"k": found.k, "rate": found.rate, "cells": found.cells, "left_out": found.left_out}


def _ties(found: TiesFound) -> Tree:
    return {
        "sets": [list(names) for names in found.ties.sets],
        "letters": dict(found.ties.letters),
        "alpha": found.alpha,
        "p_values": [
            {"first": first, "second": second, "p_holm": value}
            for (first, second), value in found.p_values.items()
        ],
        "left_out": list(found.left_out),
    }


def _of_task(task: TaskSummary, findings: Findings) -> Tree:
    return {
        "tool_interval": interval_tree(task_interval(task, control=False)),
        "control_interval": interval_tree(task_interval(task, control=True)),
        "cells": {cell.cell.scenario: _of_cell(cell, findings) for cell in task.cells},
    }


def _of_cell(cell: CellSummary, findings: Findings) -> Tree:
    stop = findings.stops.get(cell.cell)
    decided: Tree = {"stopped": {"runs": stop.trials, "why": stop.why}} if stop else {}
    return {
        **cell.counts.tree(),
        "interval": interval_tree(cell_interval(cell)),
        "categories": dict(cell.categories),
        "served": list(cell.served),
        **decided,
    }


def _with_clusters(table: Tree, cells: Sequence[CellSummary]) -> dict[str, Json]:
    """A table by scenarios, with the interval of each over the models."""
    return {
        name: {
            **_object(row),
            **_clustered(over_clusters([cell for cell in cells if cell.cell.scenario == name])),
        }
        for name, row in table.items()
    }


def _by_axis(table: Tree, cells: Sequence[CellSummary], axis: str) -> Tree:
    return {
        value: _with_clusters(_object(rows), [cell for cell in cells if getattr(cell.cell, axis) == value])
        for value, rows in table.items()
    }


def _object(tree: Json) -> Tree:
    return cast("Tree", tree)
