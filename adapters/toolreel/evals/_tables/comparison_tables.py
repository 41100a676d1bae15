"""The tables of a comparison, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from toolreel.evals._summary.comparison import Comparison, Row
from toolreel.evals._summary.run_pairs import Match
from toolreel.evals._summary.summary_files import interval_tree
from toolreel.evals._tables.table import TextTable, out_of, p_text, percent, points, shortened, where
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._summary.summary import RunEntry


def comparison_lines(found: Comparison) -> tuple[str, ...]:
    """What is compared, and what of it has a pair."""
    matches, whole = found.matches, found.whole
    paired = sum(match.valid for match in matches.both)
    alone = f"{len(matches.only_first)} runs only in the first, {len(matches.only_second)} only in the second"
    by = "the axis " + found.axis if found.axis else "two evaluations"
    lines = [
        f"first: {found.first.name}",
        f"second: {found.second.name}",
        f"compared by {by}: {paired} valid pairs, {matches.invalid} void or unsupported, {alone}",
    ]
    if found.accepted:
        sides = f"{found.first.accepted} in the first, {found.second.accepted} in the second"
        lines.append(f"void and accepted: {sides}")
    if whole.unpaired:
        lines.append(
            "No run of the one has the same task as a run of the other, so the rates are compared as those "
            f"of runs that have nothing to do with each other ({whole.unpaired.test})."
        )
    return tuple(lines)


def comparison_tables(found: Comparison, most: int | None = None) -> tuple[TextTable, ...]:
    """All tables of a comparison; those that would have no rows are left out.

    :param most: how many flips to list; ``None`` for all
    """
    tables = (_rates(found), *_flips(found, most), _shifts(found), _changes(found))
    return tuple(table for table in tables if table.rows)


def comparison_tree(found: Comparison) -> dict[str, Json]:
    """All of it."""
    matches = found.matches
    return {
        "first": found.first.name,
        "second": found.second.name,
        "axis": found.axis or None,
        "pairs": {
            "valid": sum(match.valid for match in matches.both),
            "invalid": matches.invalid,
            "only_first": len(matches.only_first),
            "only_second": len(matches.only_second),
        },
        "lacking": found.lacking,
        **({"accepted_void": found.accepted} if found.accepted else {}),
        "rows": [_row_tree(row) for row in found.rows],
        "gained": [_flip_tree(match) for match in found.flips("gained")],
        "lost": [_flip_tree(match) for match in found.flips("lost")],
        "taxonomy": {name: {"first": a, "second": b} for name, (a, b) in found.taxonomy.items()},
        "configurations": [
            {"changes": [*change.lines], "tasks": change.tasks, "example": change.example}
            for change in found.changes
        ],
    }


def _rates(found: Comparison) -> TextTable:
    head = (
        *("of", "first", "second", "pairs", "gained", "lost", "points", "95%", "p", "p_holm"),
        *("mcnemar_p", "mid_p", "test"),
    )
    rows = tuple(map(_row, found.rows))
    notes = (
        "p is exact and takes the trials of a cell as alike; mcnemar_p and mid_p take each pair for itself",
        "p_holm is adjusted for all rows of the same kind",
    )
    return TextTable("rates", head, rows, notes)


def _row(row: Row) -> tuple[str, ...]:
    pairs, tested = row.pairs, row.clustered or row.unpaired
    return (
        f"{row.axis} {row.value}" if row.axis else "all tool runs",
        _rate(row.first),
        _rate(row.second),
        str(pairs.runs),
        str(pairs.gained),
        str(pairs.lost),
        points(row.difference),
        f"{points(tested.interval.low)} to {points(tested.interval.high)}" if tested else "-",
        p_text(row.p_value),
        p_text(row.p_holm),
        p_text(row.mcnemar.exact_p if row.mcnemar else None),
        p_text(row.mcnemar.mid_p if row.mcnemar else None),
        tested.test if tested else "-",
    )


def _rate(count: Count) -> str:
    return f"{out_of(count.passed, count.runs)} {percent(count.rate)}"


def _flips(found: Comparison, most: int | None) -> Iterable[TextTable]:
    head = (
        *("model", "profile", "strategy", "lang", "scenario", "trial", "category"),
        *("first", "second", "error"),
    )
    for flip, title in (
        ("lost", "lost: only the first passed"),
        ("gained", "gained: only the second passed"),
    ):
        matches = found.flips(flip)
        shown = matches if most is None else matches[:most]
        more = len(matches) - len(shown)
        notes = (f"and {more} more; --json and --markdown have all of them",) if more else ()
        rows = tuple(_flip(match, found) for match in shown)
        yield TextTable(f"{title} ({len(matches)})", head, rows, notes)


def _flip(match: Match, found: Comparison) -> tuple[str, ...]:
    cell, failed = match.first.cell, match.first if match.flip == "gained" else match.second
    axes = ("model", "profile", "strategy", "language")
    return (
        *("*" if axis == found.axis else str(getattr(cell, axis)) for axis in axes),
        cell.scenario,
        str(match.first.trial),
        failed.category,
        where(match.first),
        where(match.second),
        shortened(failed.hint or failed.error),
    )


def _shifts(found: Comparison) -> TextTable:
    rows = tuple(
        (name, str(before), str(after), f"{after - before:+d}")
        for name, (before, after) in found.taxonomy.items()
    )
    return TextTable("why runs did not pass", ("category", "first", "second", "change"), rows)


def _changes(found: Comparison) -> TextTable:
    rows = tuple(
        (line, str(change.tasks), change.example) for change in found.changes for line in change.lines
    )
    return TextTable("configurations", ("change", "pairs", "such as"), rows)


def _row_tree(row: Row) -> Tree:
    pairs, tested = row.pairs, row.clustered or row.unpaired
    return {
        "axis": row.axis or None,
        "value": row.value or None,
        "first": {"ok": row.first.passed, "valid": row.first.runs, "rate": row.first.rate},
        "second": {"ok": row.second.passed, "valid": row.second.runs, "rate": row.second.rate},
        "pairs": asdict(pairs),
        "difference": row.difference,
        "interval": interval_tree(tested.interval if tested else None),
        "p": row.p_value,
        "p_holm": row.p_holm,
        "test": tested.test if tested else None,
        "clusters": row.clustered.clusters if row.clustered else None,
        "clustered_mid_p": row.clustered.mid_p if row.clustered else None,
        "mcnemar_exact_p": row.mcnemar.exact_p if row.mcnemar else None,
        "mcnemar_mid_p": row.mcnemar.mid_p if row.mcnemar else None,
        "paired_interval": interval_tree(row.mcnemar.interval if row.mcnemar else None),
    }


def _flip_tree(match: Match) -> Tree:
    cell = match.first.cell
    return {
        **asdict(cell),
        "trial": match.first.trial,
        "first": _run_tree(match.first),
        "second": _run_tree(match.second),
    }


def _run_tree(entry: RunEntry) -> Tree:
    return {
        "strategy": entry.cell.strategy,
        "key": entry.key,
        "result": entry.result,
        "category": entry.category or None,
        "error": entry.error or None,
        "cassette": entry.cassette or None,
    }
