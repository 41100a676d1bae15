"""A summary in the shape of the reference harness: the same files, field names and orders.

``ok`` counts runs that passed, exercised or not, as the reference does, and ``runs`` all of them; rates are
of valid runs, which the reference does not tell apart, and ``coverage`` says how many those are. What the
reference has no word for is next to its fields under a name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._summary.summary import CellSummary, RunEntry, Summary, TaskSummary
from toolreel_core.evals._summary.totals import ResultCounts, nearest_rank, reference_percentile
from toolreel_core.evals._verdicts import TAXONOMY, alias_of

SUMMARY: Final = "summary.json"
BY_SCENARIO: Final = "summary_by_scenario.json"
BY_STRATEGY: Final = "summary_by_scenario_and_strategy.json"

_FAILURES: Final = 3


def summary_files(summary: Summary, about: Tree) -> dict[str, Tree]:
    """The files of a summary by name, each as a tree.

    :param about: what the evaluation was asked for, whose fields open ``summary.json``
    """
    cells, axes = summary.cells, Axes.of(summary)
    total = summary.counts()
    whole: dict[str, Json] = {
        **about,
        "taxonomy": TAXONOMY,
        "complete": summary.complete,
        "missing": summary.missing,
        **_accepted(summary),
        **total.tree(),
        "warnings": list(summary.warnings),
        "models": [_row(task, axes) for task in summary.tasks],
    }
    return {
        SUMMARY: whole,
        BY_SCENARIO: _by_scenario(cells),
        BY_STRATEGY: _grouped(cells, "strategy"),
    }


def _accepted(summary: Summary) -> Tree:
    """The void runs that are accepted, where the plan accepts any."""
    voids = summary.accepted_voids
    if not voids.categories:
        return {}
    told: Tree = {
        "categories": list(voids.categories),
        "runs": summary.accepted,
        "min_coverage": voids.min_coverage,
        "covered": summary.covered,
    }
    return {"accepted_void": told}


@dataclass(frozen=True, slots=True)
class Axes:
    """Which axes an evaluation varies, and a label therefore names."""

    profiles: bool
    strategies: bool
    fallbacks: bool
    endpoints: bool

    @classmethod
    def of(cls, summary: Summary) -> Axes:
        """The axes of a summary."""
        cells = [task.cell for task in summary.tasks]
        return cls(
            {cell.profile for cell in cells} > {"default"}
            or not any(cell.profile == "default" for cell in cells),
            len({cell.strategy for cell in cells}) > 1,
            len({cell.fallback for cell in cells}) > 1,
            len({cell.endpoint for cell in cells}) > 1,
        )


def label(task: TaskSummary, axes: Axes) -> str:
    """The label of a task: its model, and the axes that vary."""
    cell = task.cell
    parts = [cell.model]
    parts += [cell.profile] if axes.profiles else []
    parts += [cell.strategy] if axes.strategies else []
    parts += [cell.fallback] if axes.fallbacks else []
    parts += [cell.endpoint] if axes.endpoints else []
    return ":".join(parts)


def axis_fields(cell: Cell, name: str) -> dict[str, Json]:
    """The fields that say which axes a row is about.

    :param name: the label of its task
    """
    return {
        "model": name,
        "model_base": cell.model,
        "strategy": cell.strategy,
        "fallback_profile": cell.fallback,
        "sampling_profile": cell.profile,
        **({"endpoint": cell.endpoint} if cell.endpoint else {}),
    }


def _row(task: TaskSummary, axes: Axes) -> Tree:
    cell, name, counts = task.cell, label(task, axes), task.counts()
    entries = task.entries()
    first = entries[0]
    return {
        **axis_fields(cell, name),
        "content_tag_tool_call_fallback": first.text_calls,
        "ok_rate": counts.rate,
        **counts.tree(),
        **_times("", entries),
        **_part("tool", task, control=False),
        **_part("control", task, control=True),
        "usage": task.usage.tree(),
        "scenarios": [cell.cell.scenario for cell in task.cells],
        "run_results": [_run(entry, name) for entry in entries],
        "failure_samples": [_run(entry, name) for entry in entries if not entry.ok][:_FAILURES],
    }


def _part(prefix: str, task: TaskSummary, *, control: bool) -> dict[str, Json]:
    counts, entries = task.counts(control=control), task.entries(control=control)
    return {
        f"{prefix}_runs": counts.runs,
        f"{prefix}_ok": counts.ok,
        f"{prefix}_valid": counts.valid,
        f"{prefix}_ok_rate": counts.rate,
        f"{prefix}_coverage": counts.coverage,
        **_times(f"{prefix}_", entries),
    }


def _times(prefix: str, entries: Sequence[RunEntry]) -> dict[str, Json]:
    """As the reference takes them, of all attempts; and by nearest rank, of the last attempt."""
    every = [entry.ms for entry in entries]
    last = [entry.last_ms for entry in entries if entry.result != "void"]
    return {
        f"{prefix}ms_p50": reference_percentile(every, 50),
        f"{prefix}ms_p95": reference_percentile(every, 95),
        f"{prefix}last_attempt_ms_p50_nearest_rank": nearest_rank(last, 50),
        f"{prefix}last_attempt_ms_p95_nearest_rank": nearest_rank(last, 95),
    }


def _run(entry: RunEntry, name: str) -> Tree:
    cell = entry.cell
    return {
        **axis_fields(cell, name),
        "empty_response_retry_attempts": entry.attempts,
        "content_tag_tool_call_fallback": entry.text_calls,
        "scenario": cell.scenario,
        "trial": entry.trial,
        "ok": entry.ok,
        "result": entry.result,
        "elapsed_ms": entry.ms,
        "error": entry.error or None,
        "error_hint": entry.hint or None,
        "error_status": entry.status,
        "error_category": alias_of(entry.category, entry.status) or None,
        "category": entry.category or None,
        "key": entry.key,
        "report_path": entry.cassette or None,
    }


def _by_scenario(cells: Sequence[CellSummary]) -> dict[str, Json]:
    """For each scenario: runs, and how many of them went wrong in which way, by the reference's names."""
    scenarios = dict.fromkeys(cell.cell.scenario for cell in cells)
    return {name: _crossed([cell for cell in cells if cell.cell.scenario == name]) for name in scenarios}


def _grouped(cells: Sequence[CellSummary], axis: str) -> dict[str, Json]:
    values = dict.fromkeys(getattr(cell.cell, axis) for cell in cells)
    return {
        value: _by_scenario([cell for cell in cells if getattr(cell.cell, axis) == value]) for value in values
    }


def _crossed(cells: Sequence[CellSummary]) -> Tree:
    counts = sum((cell.counts for cell in cells), start=ResultCounts())
    entries = [entry for cell in cells for entry in cell.entries]
    return {
        **counts.tree(),
        "errors": _tallied(alias_of(entry.category, entry.status) for entry in entries if not entry.ok),
        "categories": _tallied(entry.category for entry in entries),
    }


def _tallied(names: Iterable[str]) -> dict[str, Json]:
    found = Counter(name for name in names if name)
    return dict(sorted(found.items()))
