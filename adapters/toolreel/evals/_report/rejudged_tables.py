"""Recorded runs under another strategy, as lines, tables and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from toolreel.evals._replay import FATES, Rejudged
from toolreel.evals._report.rendering import TextTable, rows_of
from toolreel_core._jsontext import Tree


def rejudged_lines(runs: Sequence[Rejudged], strategy: str, first: str = "") -> Iterator[str]:
    """How many runs of each strategy became what under another, and why not all are decided.

    :param first: the strategy that was bisected
    """
    for name, group in _group_runs(runs, first).items():
        fates = Counter(run.fate for run in group)
        counts = ", ".join(f"{fates[fate]} {fate}" for fate in FATES)
        yield f"{name} -> {strategy}: {len(group)} runs, {counts}"
        for why, count in Counter(run.reason for run in group if run.fate == "undecided").most_common():
            yield f"  undecided because {why}: {count}"
    if first and not any(run.needed for run in runs):
        yield f"No run is turned, so no setting of {strategy} is needed by a recorded reply."


def rejudged_tables(runs: Sequence[Rejudged]) -> list[TextTable]:
    """The settings that turn runs, and the runs that are gained or lost; empty tables are left out."""
    tables = (_settings_table(runs), _runs_table([run for run in runs if run.fate in {"gained", "lost"}]))
    return [table for table in tables if table.rows]


def rejudged_tree(runs: Sequence[Rejudged], strategy: str, first: str = "") -> Tree:
    """The same for machines, with all runs."""
    return {
        "to": strategy,
        "from": {
            name: {fate: sum(run.fate == fate for run in group) for fate in FATES}
            for name, group in _group_runs(runs, first).items()
        },
        "settings": rows_of(_settings_table(runs)),
        "runs": rows_of(_runs_table(runs)),
    }


def _group_runs(runs: Sequence[Rejudged], first: str) -> dict[str, list[Rejudged]]:
    groups: dict[str, list[Rejudged]] = {}
    for run in runs:
        groups.setdefault(first or run.record.cell.strategy, []).append(run)
    return groups


def _runs_table(runs: Sequence[Rejudged]) -> TextTable:
    rows = []
    for run in runs:
        cell, lost = run.record.cell, run.before if run.fate == "gained" else run.after
        of_run = run.record.key[:12], run.fate, " ".join(map(str, run.needed)), lost.category if lost else ""
        trial = cell.scenario, str(run.record.trial), cell.strategy, cell.model
        rows.append((*of_run, *trial, run.reason))
    head = ("run", "fate", "settings", "lost by", "scenario", "trial", "replies of", "model", "undecided")
    return TextTable("runs that are gained or lost", head, tuple(rows))


def _settings_table(runs: Sequence[Rejudged]) -> TextTable:
    """The keys that turn runs, those that turn most first."""
    alone = Counter(key for run in runs for key in run.alone)
    together = Counter(key for run in runs if not run.alone for key in run.needed)
    turned = sum(bool(run.needed) for run in runs)
    order = sorted({*alone, *together}, key=lambda key: (-alone[key] - together[key], str(key)))
    rows = tuple(
        (str(key), key.change or "-", f"{alone[key]}/{turned}", f"{together[key]}/{turned}") for key in order
    )
    note = "alone: runs that this setting turns alone; together: runs that need it and others"
    return TextTable("settings that turn runs", ("setting", "change", "alone", "together"), rows, (note,))
