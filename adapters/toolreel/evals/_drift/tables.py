"""What drift and equivalence look like: sentences, tables, JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from toolreel.evals._drift.diverging_runs import DivergedPair
from toolreel.evals._drift.verdict import Drift, ServedModel
from toolreel.evals._summary.comparison import Row
from toolreel.evals._tables.table import TextTable, out_of, p_text, points
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.equivalence import Equivalence

_ANSWERS = {
    "same": "The same: it still is what it was.",
    "drifted": "Drifted: it is no longer what it was.",
    "undecided": "Undecided: these runs do not show whether it still is what it was.",
}


def drift_lines(found: Drift) -> tuple[str, ...]:
    """The answer, and what it rests on."""
    lines = [_ANSWERS[found.verdict]]
    for one in found.served:
        what = f"{_name(one)} {one.verdict}" if len(found.served) > 1 else "all tool runs"
        if one.whole:
            lines.append(f"{what}: {one.whole.sentence}")
        else:
            lines.append(f"{what}: no run of the repetition has a valid partner")
    if lacking := found.comparison.second.lacking:
        lines.append(f"{lacking} runs are missing or void; run the same command again")
    if found.recorded:
        lines.append(f"{found.identical} of {found.recorded} recorded pairs are the same, call by call")
    return tuple(lines)


def drift_tables(found: Drift, most: int | None = None) -> tuple[TextTable, ...]:
    """The scenarios that drifted, and where runs part; empty ones are left out.

    :param most: how many pairs to list; ``None`` for all
    """
    tables = (_scenarios(found), diverged_table(found.diverged, most))
    return tuple(table for table in tables if table.rows)


def drift_tree(found: Drift) -> dict[str, Json]:
    """All of it."""
    return {
        "verdict": found.verdict,
        "whole": equivalence_tree(found.whole),
        "served": [
            {
                **_place_tree(one),
                "verdict": one.verdict,
                "whole": equivalence_tree(one.whole),
                "p_holm": one.p_holm if len(found.served) > 1 else None,
            }
            for one in found.served
        ],
        "scenarios": [
            {**_place_tree(one), **_scenario_tree(row)} for one in found.served for row in one.drifted
        ],
        "lacking": found.comparison.second.lacking,
        "identical": found.identical,
        "recorded_pairs": found.recorded,
        "diverging": [pair.tree() for pair in found.diverged],
    }


def equivalence_tree(found: Equivalence | None) -> Json:
    """An equivalence as JSON."""
    return {**asdict(found), "sentence": found.sentence} if found else None


def diverged_table(pairs: Iterable[DivergedPair], most: int | None = None) -> TextTable:
    """Where the runs of pairs that ended differently first part."""
    listed = [*pairs]
    rows = tuple(map(_diverged, listed[:most]))
    rest = len(listed) - len(rows)
    notes = (f"and {rest} more pairs; --json lists all",) if rest else ()
    task = ("model", "endpoint", "strategy", "scenario", "trial")
    head: tuple[str, ...] = (*task, "now", "first difference", "first", "second")
    if not any(pair.match.second.cell.endpoint for pair in listed):
        head, rows = (head[0], *head[2:]), tuple((row[0], *row[2:]) for row in rows)
    return TextTable("pairs that ended differently", head, rows, notes)


def _diverged(pair: DivergedPair) -> tuple[str, ...]:
    cell, found = pair.match.second.cell, pair.diverging
    unknown = "nowhere: only the verdict differs" if pair.known else "not recorded"
    where = (found.place, found.first, found.second) if found else (unknown, "", "")
    task = (cell.model, cell.endpoint, cell.strategy, cell.scenario, str(pair.match.second.trial))
    return (*task, pair.match.flip, *where)


def _name(one: ServedModel) -> str:
    return f"{one.model} at {one.endpoint}" if one.endpoint else one.model


def _place_tree(one: ServedModel) -> dict[str, Json]:
    return {"model": one.model, **({"endpoint": one.endpoint} if one.endpoint else {})}


def _scenarios(found: Drift) -> TextTable:
    head: tuple[str, ...] = ("of", "scenario", "before", "now", "points", "95%", "p_holm")
    rows = tuple((_name(one), *_scenario(row)) for one in found.served for row in one.drifted)
    if len(found.served) == 1:
        head, rows = head[1:], tuple(row[1:] for row in rows)
    note = "p_holm is exact, about these scenarios, and adjusted for all of them"
    return TextTable("scenarios that drifted", head, rows, (note,))


def _scenario(row: Row) -> tuple[str, ...]:
    found = row.these
    between = f"{points(found.interval.low)} to {points(found.interval.high)}" if found else "-"
    difference = points(found.difference if found else None)
    return row.value, _rate(row.pairs.first), _rate(row.pairs.second), difference, between, p_text(row.p_holm)


def _scenario_tree(row: Row) -> Tree:
    found = row.these
    return {
        "scenario": row.value,
        "before": {"ok": row.pairs.first.passed, "runs": row.pairs.first.runs},
        "now": {"ok": row.pairs.second.passed, "runs": row.pairs.second.runs},
        "difference": found.difference if found else None,
        "interval": [found.interval.low, found.interval.high] if found else None,
        "p_holm": row.p_holm,
    }


def _rate(count: Count) -> str:
    return out_of(count.passed, count.runs)
