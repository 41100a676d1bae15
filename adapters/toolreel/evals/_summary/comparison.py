"""Compare two evaluations, or two values of one axis within an evaluation, task by task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics.side_differences import compare_scenarios, compare_trials
from toolreel.evals._statistics.significance_tests import holm
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.results import Results
from toolreel.evals._summary.plan_gates import lacking, measured_figures
from toolreel.evals._summary.run_pairs import AXES, Axis, Match, Matches, pair_runs, paired_cells, valid
from toolreel.evals._summary.summary_files import cells_of, summary_of
from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import JsonText, canonical
from toolreel_core.evals import (
    CellSummary,
    Count,
    Difference,
    EvalPlan,
    Figures,
    Pairs,
    RunEntry,
    Summary,
    total_pairs,
)


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
class EvaluationSide:
    """An evaluation, or what it has of a value on an axis."""

    results: Results
    plan: EvalPlan
    summary: Summary
    name: str
    axis: Axis = ""
    value: str = ""

    @property
    def side(self) -> Side:
        """Its runs, to be compared.

        :raises ConfigError: if it has nothing of the value
        """
        cells = [cell for cell in cells_of(self.plan) if not self.axis or _at(cell, self.axis) == self.value]
        if not cells:
            known = self.values(self.axis)
            raise ConfigError(f"{self.results.path}: {unknown_name(self.axis, self.value, known)}")
        summary = self.summary
        there = [cell for cell in summary.cells if not self.axis or _at(cell.cell, self.axis) == self.value]
        return Side(
            self.name,
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

    def values(self, axis: str) -> tuple[str, ...]:
        """What its plan has on an axis."""
        return tuple(dict.fromkeys(_at(cell, axis) for cell in cells_of(self.plan)))

    def headers_beside(self, other: EvaluationSide) -> tuple[str, ...]:
        """How the plans and versions of two evaluations differ, a line each."""
        return configuration_differences(self._header(), other._header())

    def _header(self) -> JsonText:
        return canonical(replace(self.results.header, created="", since="", earlier=()).tree())


def read_sides(
    folder: Path | str, others: Sequence[str], by: str = "", pairing: Sequence[str] = ()
) -> tuple[EvaluationSide, EvaluationSide]:
    """Read the two sides of a comparison.

    :param others: another directory; or, within one, two values
    :param by: the axis of these values
    :param pairing: axes of which each of two directories has one value, and that do not count in pairs
    :raises ResultsError: if a directory has no evaluation
    :raises ConfigError: if these are not two sides
    """
    if by:
        return _within(_read(folder), others, cast("Axis", by), pairing)
    if len(others) != 1:
        raise ConfigError("name two directories, or one with --by and two values")
    first, second = _read(folder), _read(Path(others[0]))
    for axis in pairing:
        _check_single(axis, first, second)
    return first, second


def _within(
    whole: EvaluationSide, values: Sequence[str], by: Axis, pairing: Sequence[str]
) -> tuple[EvaluationSide, EvaluationSide]:
    if pairing:
        raise ConfigError(f"--as is about two directories; within one, --by {by} says what is compared")
    if len(values) != 2:
        raise ConfigError(f"--by {by}: name a directory and two values, such as raw production")
    one, other = (
        EvaluationSide(whole.results, whole.plan, whole.summary, value, by, value) for value in values
    )
    return one, other


def _check_single(axis: str, *sides: EvaluationSide) -> None:
    for side in sides:
        values = side.values(axis)
        if len(values) > 1:
            raise ConfigError(
                f"--as {axis}: {side.name} has {len(values)}, {', '.join(values)}; it pairs directories that "
                f"have one {axis} each"
            )


def axes_between(first: Side, second: Side, axes: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    """The axes on which two sides have nothing in common, with the values of each side."""
    found = []
    for axis in axes:
        ours, others = (
            tuple(dict.fromkeys(_at(cell.cell, axis) for cell in side.cells)) for side in (first, second)
        )
        if not {*ours} & {*others}:
            found.append((axis, ", ".join(ours), ", ".join(others)))
    return tuple(found)


def _at(cell: object, axis: str) -> str:
    return cast("str", getattr(cell, axis))


def _read(folder: Path | str) -> EvaluationSide:
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    return EvaluationSide(results, plan, summary_of(results, plan), str(results.path))


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
    sample: Difference | None
    """About scenarios such as these; ``None`` for the row of a scenario, or without a pair."""
    these: Difference | None
    """About these scenarios; ``None`` without a pair."""
    p_holm: float | None
    """The p-value, adjusted for all groups of this axis."""

    @property
    def shown(self) -> Difference | None:
        """The one that tables show: about scenarios such as these, if there is more than one."""
        return self.sample if self.sample and self.sample.scenarios > 1 else self.these

    @property
    def p_value(self) -> float | None:
        """Its p-value, not adjusted."""
        return self.shown.p_value if self.shown else None


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
    axes: tuple[str, ...]
    """What is compared; empty for two evaluations of the same plan."""
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
    def unrelated(self) -> str:
        """Why there is nothing to compare: that no run has a partner; empty if one has."""
        return "" if self.matches.both else _unrelated(self.first, self.second, self.axes)

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
        """Whether nothing is lacking on either side, enough runs are not void, and some have a partner."""
        return not self.lacking and not self.unrelated and self.first.covered and self.second.covered


def compare(first: Side, second: Side, *axes: str) -> Comparison:
    """Compare two sides task by task.

    :param axes: what they differ in, such as ``strategy`` within one evaluation, or ``model``
    """
    axes = tuple(filter(None, axes))
    matches = pair_runs(first.entries, second.entries, *axes)
    cells = [*first.cells, *second.cells]
    controls = frozenset(cell.cell.scenario for cell in cells if cell.control)
    if all(cell.control for cell in cells):
        controls = frozenset()
    return Comparison(
        first,
        second,
        axes,
        matches,
        tuple(_rows(first, second, matches, axes, controls)),
        tuple(_changes(first, second, matches)),
        _shifts(matches),
    )


def _rows(
    first: Side, second: Side, matches: Matches, axes: Sequence[str], controls: frozenset[str]
) -> Iterable[Row]:
    ones, others = first.entries, second.entries

    def row(by: str, value: str) -> Row:
        # Plain conversations have a row as a scenario, and are in no other.
        def counts(entry: RunEntry) -> bool:
            counted = by == "scenario" or entry.cell.scenario not in controls
            return counted and (not by or getattr(entry.cell, by) == value)

        cells = paired_cells((match for match in matches.both if counts(match.first)), *axes)
        sample = None if by == "scenario" else compare_scenarios(cells)
        one, other = (_count(filter(counts, side)) for side in (ones, others))
        pairs = total_pairs(cell.pairs for cell in cells)
        made = Row(by, value, one, other, pairs, sample, compare_trials(cells), None)
        return replace(made, p_holm=made.p_value)

    yield row("", "")
    for by in ("strategy", "model", "scenario"):
        counted = (one for one in (*ones, *others) if by == "scenario" or one.cell.scenario not in controls)
        values = dict.fromkeys(getattr(entry.cell, by) for entry in counted)
        if len(values) > 1 and by not in axes:
            rows = [row(by, value) for value in values]
            adjusted = holm({one.value: one.p_value for one in rows if one.p_value is not None})
            yield from (replace(one, p_holm=adjusted.get(one.value)) for one in rows)


def _count(entries: Iterable[RunEntry]) -> Count:
    return Count.of(entry.ok for entry in entries if valid(entry))


def _unrelated(first: Side, second: Side, axes: Sequence[str]) -> str:
    """What to write instead where no run of one side has a partner on the other."""
    apart = [each for each in axes_between(first, second, ("scenario", *AXES)) if each[0] not in axes]
    named = "; ".join(f"{axis}: {ours} and {others}" for axis, ours, others in apart)
    why = f"the two differ in {named}" if named else "they have no trial of the same cell"
    names = [axis for axis, _, _ in apart]
    if not names or "scenario" in names:
        return f"No run of the one has the same task as a run of the other: {why}."
    option = " ".join(f"--as {axis}" for axis in (*axes, *names))
    return f"No run of the one has the same task as a run of the other: {why}; to compare them, add {option}."


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
