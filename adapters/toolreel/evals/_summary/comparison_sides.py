"""The two sides of a comparison: two evaluations, or two values of an axis within one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.results import Results
from toolreel.evals._summary.plan_gates import lacking, measured_figures
from toolreel.evals._summary.run_pairs import Axis
from toolreel.evals._summary.summary_files import cells_of, summary_of
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core.evals._plan.eval_plan import EvalPlan
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
