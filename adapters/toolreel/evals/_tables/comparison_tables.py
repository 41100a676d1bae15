"""The tables of a comparison, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from toolreel.evals._summary.comparison import Comparison, Row
from toolreel.evals._summary.run_pairs import Match
from toolreel.evals._summary.summary_files import interval_tree
from toolreel.evals._tables.table import TextTable, out_of, p_text, percent, points, shortened, where
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import Count, Difference, RunEntry


def comparison_lines(found: Comparison) -> tuple[str, ...]:
    """What is compared, and what of it has a pair."""
    matches = found.matches
    paired = sum(match.valid for match in matches.both)
    alone = f"{len(matches.only_first)} runs only in the first, {len(matches.only_second)} only in the second"
    by = " and ".join(found.axes) or "two evaluations"
    lines = [
        f"first: {found.first.name}",
        f"second: {found.second.name}",
        f"compared: {by}; {paired} valid pairs, {matches.invalid} void or unsupported, {alone}",
    ]
    if found.accepted:
        sides = f"{found.first.accepted} in the first, {found.second.accepted} in the second"
        lines.append(f"void and accepted: {sides}")
    return (*lines, found.unrelated) if found.unrelated else tuple(lines)


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
        "axis": ", ".join(found.axes) or None,
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
    head = ("of", "first", "second", "pairs", "gained", "lost", "points", "95%", "p (Holm)", "about")
    notes = [
        "scenarios such as these: each scenario counts once; the test flips the signs of their differences",
        "these scenarios: only chance among the trials of a cell; the test exchanges them",
        "p is exact, two-sided, and adjusted for all rows of the same kind",
    ]
    sample, these = found.whole.sample, found.whole.these
    if these and sample is found.whole.shown:
        interval = f"{points(these.interval.low)} to {points(these.interval.high)}"
        alone = f"{points(these.difference)} points, {interval}, p {_p(these.p_value)}"
        notes.insert(0, f"all tool runs, about these scenarios alone: {alone}")
    return TextTable("rates", head, tuple(map(_row, found.rows)), tuple(notes))


def _row(row: Row) -> tuple[str, ...]:
    pairs, shown = row.pairs, row.shown
    return (
        f"{row.axis} {row.value}" if row.axis else "all tool runs",
        _rate(row.first),
        _rate(row.second),
        str(pairs.runs),
        str(pairs.gained),
        str(pairs.lost),
        points(shown.difference if shown else None),
        f"{points(shown.interval.low)} to {points(shown.interval.high)}" if shown else "-",
        p_text(row.p_holm),
        shown.about.replace("-", " ") if shown else "-",
    )


def _p(value: float) -> str:
    shown = p_text(value)
    return f"< {shown[1:]}" if shown.startswith("<") else f"= {shown}"


def _rate(count: Count) -> str:
    return f"{out_of(count.passed, count.runs)} {percent(count.rate)}"


def _flips(found: Comparison, most: int | None) -> Iterable[TextTable]:
    head = (
        *("model", "profile", "strategy", "scenario", "trial", "category"),
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
    axes = ("model", "profile", "strategy")
    return (
        *("*" if axis in found.axes else str(getattr(cell, axis)) for axis in axes),
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
    return {
        "axis": row.axis or None,
        "value": row.value or None,
        "first": {"ok": row.first.passed, "valid": row.first.runs, "rate": row.first.rate},
        "second": {"ok": row.second.passed, "valid": row.second.runs, "rate": row.second.rate},
        "pairs": asdict(row.pairs),
        **_difference_tree(row.shown),
        "p_holm": row.p_holm,
        "scenarios_such_as_these": _difference_tree(row.sample) if row.sample else None,
        "these_scenarios": _difference_tree(row.these) if row.these else None,
    }


def _difference_tree(found: Difference | None) -> Tree:
    return {
        "about": found.about if found else None,
        "difference": found.difference if found else None,
        "interval": interval_tree(found.interval if found else None),
        "p": found.p_value if found else None,
        "smallest_p": found.smallest_p if found else None,
        "test": found.test if found else None,
        "scenarios": found.scenarios if found else None,
        "models": (found.models or None) if found else None,
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
