"""Compare two evaluations, or two values of one axis within an evaluation, task by task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics.multiple_comparisons import holm
from toolreel.evals._statistics.rate_comparisons import (
    Paired,
    Unpaired,
    compare_clustered,
    compare_paired,
    compare_unpaired,
)
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.results import Results
from toolreel.evals._summary.plan_gates import lacking, measured_figures
from toolreel.evals._summary.run_pairs import Axis, Match, Matches, clustered_pairs, pair_runs, valid
from toolreel.evals._summary.summary_files import cells_of, summary_of
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.counts import Count, Pairs
from toolreel_core.evals._statistics.gates import Figures
from toolreel_core.evals._summary.summary import CellSummary, RunEntry, Summary


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two."""

    name: str
    cells: tuple[CellSummary, ...]
    configurations: Mapping[str, JsonText]
    """By their digests."""
    lacking: int = 0
    """Runs that were not made, or that are void and not accepted."""
    accepted: int = 0
    """Void runs that are accepted."""
    covered: bool = True
    """Whether its evaluation has enough runs that are not."""

    @property
    def entries(self) -> tuple[RunEntry, ...]:
        """All its runs."""
        return tuple(entry for cell in self.cells for entry in cell.entries)


@dataclass(frozen=True, slots=True)
class Row:
    """The comparison of one group of tasks."""

    axis: str
    """What groups are made by; empty for all tool runs."""
    value: str
    first: Count
    """All valid runs of the group, paired or not."""
    second: Count
    pairs: Pairs
    clustered: Paired | None
    """By cells, with the p-value that decides; ``None`` without a pair."""
    mcnemar: Paired | None
    """By pairs, as if trials of a cell had nothing to do with each other."""
    unpaired: Unpaired | None
    """In place of these two where there is no pair."""
    p_holm: float | None
    """The p-value that decides, adjusted for all groups of this axis."""

    @property
    def p_value(self) -> float | None:
        """The one that decides, before it is adjusted."""
        if self.clustered:
            return self.clustered.exact_p
        return self.unpaired.p_value if self.unpaired else None

    @property
    def difference(self) -> float | None:
        """The second's rate less the first's, of the pairs if there are any."""
        found = self.clustered or self.unpaired
        return found.difference if found else None


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between the configurations of some tasks."""

    lines: tuple[str, ...]
    tasks: int
    example: str
    """Of one such task: its model and scenario."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two sides."""

    first: Side
    second: Side
    axis: Axis
    matches: Matches
    rows: tuple[Row, ...]
    """That of all tool runs first."""
    changes: tuple[Change, ...]
    taxonomy: Mapping[str, tuple[int, int]]
    """Number of runs by failure category, of tasks that both have run."""

    @property
    def whole(self) -> Row:
        """The row of all tool runs."""
        return self.rows[0]

    def flips(self, flip: str) -> tuple[Match, ...]:
        """The tasks that were ``gained`` or ``lost``."""
        return tuple(match for match in self.matches.both if match.flip == flip)

    @property
    def lacking(self) -> int:
        """Runs that are missing on either side, or void and not accepted."""
        return self.first.lacking + self.second.lacking

    @property
    def accepted(self) -> int:
        """Void runs on either side that are accepted."""
        return self.first.accepted + self.second.accepted

    @property
    def complete(self) -> bool:
        """Whether nothing is lacking on either side, and enough runs are not void."""
        return not self.lacking and self.first.covered and self.second.covered


def compare(first: Side, second: Side, axis: Axis = "") -> Comparison:
    """Compare two sides task by task.

    :param axis: what they differ in, within one evaluation
    """
    matches = pair_runs(first.entries, second.entries, axis)
    cells = [*first.cells, *second.cells]
    controls = frozenset(cell.cell.scenario for cell in cells if cell.control)
    if all(cell.control for cell in cells):
        controls = frozenset()
    return Comparison(
        first,
        second,
        axis,
        matches,
        tuple(_rows(first, second, matches, axis, controls)),
        tuple(_changes(first, second, matches)),
        _shifts(matches),
    )


def _rows(first: Side, second: Side, matches: Matches, axis: Axis, controls: frozenset[str]) -> Iterable[Row]:
    tools = _Part(
        [entry for entry in first.entries if entry.cell.scenario not in controls],
        [entry for entry in second.entries if entry.cell.scenario not in controls],
        [match for match in matches.both if match.first.cell.scenario not in controls],
    )
    yield tools.row("", "", axis)
    for by in ("strategy", "model", "scenario"):
        # Plain conversations have a row as a scenario, and are in no other.
        part = _Part([*first.entries], [*second.entries], [*matches.both]) if by == "scenario" else tools
        values = dict.fromkeys(getattr(entry.cell, by) for entry in (*part.first, *part.second))
        if len(values) > 1 and by != axis:
            yield from _adjusted([part.of(by, value).row(by, value, axis) for value in values])


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the runs of both sides."""

    first: Sequence[RunEntry]
    second: Sequence[RunEntry]
    both: Sequence[Match]

    def of(self, by: str, value: str) -> _Part:
        return _Part(
            [entry for entry in self.first if getattr(entry.cell, by) == value],
            [entry for entry in self.second if getattr(entry.cell, by) == value],
            [match for match in self.both if getattr(match.first.cell, by) == value],
        )

    def row(self, by: str, value: str, axis: Axis) -> Row:
        one, other = _count(self.first), _count(self.second)
        pairs = Pairs.of((match.first.ok, match.second.ok) for match in self.both if match.valid)
        clustered = compare_clustered(clustered_pairs(self.both, axis))
        unpaired = None if clustered else compare_unpaired(one, other)
        row = Row(by, value, one, other, pairs, clustered, compare_paired(pairs), unpaired, None)
        return replace(row, p_holm=row.p_value)


def _count(entries: Iterable[RunEntry]) -> Count:
    return Count.of(entry.ok for entry in entries if valid(entry))


def _adjusted(rows: Sequence[Row]) -> Iterable[Row]:
    """The rows of one axis, with their p-values adjusted for so many comparisons."""
    known = {(row.axis, row.value): row.p_value for row in rows if row.p_value is not None}
    adjusted = holm(known)
    for row in rows:
        yield replace(row, p_holm=adjusted.get((row.axis, row.value)))


def _changes(first: Side, second: Side, matches: Matches) -> Iterable[Change]:
    """What differs between the configurations, each set of differences once."""
    found: dict[tuple[str, ...], list[Match]] = {}
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    for match in matches.both:
        digests = match.first.digest, match.second.digest
        if digests not in known:
            before, after = first.configurations[digests[0]], second.configurations[digests[1]]
            known[digests] = configuration_differences(before, after)
        found.setdefault(known[digests], []).append(match)
    for lines, those in found.items():
        if lines:
            cell = those[0].first.cell
            yield Change(lines, len(those), f"{cell.model}, {cell.scenario}")


def _shifts(matches: Matches) -> dict[str, tuple[int, int]]:
    before = [match.first.category for match in matches.both]
    after = [match.second.category for match in matches.both]
    names = sorted({name for name in (*before, *after) if name})
    return {name: (before.count(name), after.count(name)) for name in names}


@dataclass(frozen=True, slots=True)
class EvaluationSide:
    """An evaluation, or what it has of a value on an axis."""

    results: Results
    plan: EvalPlan
    summary: Summary
    axis: Axis = ""
    value: str = ""

    @property
    def side(self) -> Side:
        """Its runs, to be compared.

        :raises ConfigError: if it has nothing of the value
        """
        cells = [cell for cell in cells_of(self.plan) if not self.axis or self._at(cell) == self.value]
        if not cells:
            known = dict.fromkeys(map(self._at, cells_of(self.plan)))
            raise ConfigError(f"{self.results.path}: {unknown_name(self.axis, self.value, known)}")
        summary = self.summary
        there = [cell for cell in summary.cells if not self.axis or self._at(cell.cell) == self.value]
        return Side(
            self.value or str(self.results.path),
            tuple(there),
            {record.digest: record.configuration for record in self.results.records()},
            lacking(cells, summary, self.plan),
            sum(summary.accepts(entry) for cell in there for entry in cell.entries),
            summary.covered,
        )

    @property
    def figures(self) -> tuple[Figures, ...]:
        """What gates can ask of it."""
        return measured_figures(self.summary, self.plan, self.axis, self.value)

    def headers_beside(self, other: EvaluationSide) -> tuple[str, ...]:
        """How the plans and versions of two evaluations differ, a line each."""
        return configuration_differences(self._header(), other._header())

    def _at(self, cell: object) -> str:
        return cast("str", getattr(cell, self.axis))

    def _header(self) -> JsonText:
        return canonical(replace(self.results.header, created="", since="", earlier=()).tree())


def read_sides(folder: Path | str, others: Sequence[str], axis: str) -> tuple[EvaluationSide, EvaluationSide]:
    """Read the two sides of a comparison.

    :param others: another directory; or, with an axis, two values on it
    :raises ResultsError: if a directory has no evaluation
    :raises ConfigError: if these are not two sides
    """
    first = _read(folder)
    if not axis:
        if len(others) != 1:
            raise ConfigError("name two directories, or one with --by and two values")
        return first, _read(Path(others[0]))
    if len(others) != 2:
        raise ConfigError(f"--by {axis}: name a directory and two values, such as raw production")
    compared = cast("Axis", axis)
    one, other = (
        EvaluationSide(first.results, first.plan, first.summary, compared, value) for value in others
    )
    return one, other


def _read(folder: Path | str) -> EvaluationSide:
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    return EvaluationSide(results, plan, summary_of(results, plan))
