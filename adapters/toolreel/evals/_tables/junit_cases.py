"""The test cases of an evaluation, for build servers: its cells, the cells of a comparison, and gates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from toolreel.evals._summary.comparison import Comparison
from toolreel.evals._summary.pairs import Match
from toolreel.evals._tables.junit import Case, Standing
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._statistics.gate_check import Judged
from toolreel_core.evals._statistics.gates import Gate, NoRegression, NoWorseThan, Threshold
from toolreel_core.evals._summary.summary import CellSummary, Summary

__all__ = ["cell_cases", "gate_cases", "match_cases"]


def cell_cases(summary: Summary) -> tuple[Case, ...]:
    """The cells: failed if a run failed, in error if one is void, skipped if the model cannot run it."""
    return tuple(map(_cell, summary.cells))


def match_cases(comparison: Comparison) -> tuple[Case, ...]:
    """The cells of a comparison: failed if the second side lost more of its trials than it gained."""
    cells: dict[Cell, list[Match]] = {}
    for match in comparison.matches.both:
        cells.setdefault(match.second.cell, []).append(match)
    return tuple(_compared(cell, matches) for cell, matches in cells.items())


def gate_cases(judged: Iterable[Judged]) -> tuple[Case, ...]:
    """The gates; one that is undecided is in error, since nobody knows."""
    standings: dict[str, Standing] = {"passed": "passed", "failed": "failure", "undecided": "error"}
    return tuple(Case("gates", _gate_name(one.gate), standings[one.standing], one.sentence) for one in judged)


def _gate_name(gate: Gate) -> str:
    match gate:
        case Threshold():
            group = "".join(f" of {part}" for part in gate.about if part)
            return f"{gate.metric}{group} {gate.side.replace('_', ' ')} {gate.limit:g}"
        case NoRegression():
            return f"no regression of {gate.strategy} against {gate.against}"
        case NoWorseThan():
            return f"{gate.strategy} at most {gate.margin:g} worse than {gate.against}"
        case _:
            assert_never(gate)


def _cell(cell: CellSummary) -> Case:
    counts = cell.counts
    told = f"{counts.ok} of {counts.valid} valid runs passed"
    told += f", {counts.void} void" if counts.void else ""
    told += f", {counts.unsupported} unsupported" if counts.unsupported else ""
    standing: Standing = (
        "failure" if counts.failed else "error" if counts.void else "passed" if counts.valid else "skipped"
    )
    details = tuple(
        f"trial {entry.trial}: {entry.error} ({entry.cassette or entry.key})"
        for entry in cell.entries
        if not entry.ok
    )
    seconds = sum(entry.ms for entry in cell.entries) / 1000
    return Case(".".join(cell.cell.task), cell.cell.scenario, standing, told, details, seconds)


def _compared(cell: Cell, matches: Sequence[Match]) -> Case:
    gained, lost = ([match for match in matches if match.flip == flip] for flip in ("gained", "lost"))
    valid = sum(match.valid for match in matches)
    standing: Standing = "failure" if len(lost) > len(gained) else "passed" if valid else "skipped"
    told = f"{valid} pairs, {len(gained)} gained, {len(lost)} lost"
    details = tuple(
        f"trial {match.second.trial}: {match.second.error} ({match.second.cassette or match.second.key})"
        for match in lost
    )
    seconds = sum(match.second.ms for match in matches) / 1000
    return Case(".".join(cell.task), cell.scenario, standing, told, details, seconds)
