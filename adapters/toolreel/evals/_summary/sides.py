"""The two sides of a comparison, read from one directory of results or from two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from toolreel.evals._store.plans import configuration_differences, plan_of_header
from toolreel.evals._store.results import Results
from toolreel.evals._summary.comparison import Side
from toolreel.evals._summary.export import cells_of, summary_of
from toolreel.evals._summary.plan_gates import lacking, measured_figures
from toolreel.evals._summary.run_pairs import Axis
from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._statistics.gates import Figures
from toolreel_core.evals._summary.summary import Summary


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
        return Side(
            self.value or str(self.results.path),
            tuple(cell for cell in self.summary.cells if not self.axis or self._at(cell.cell) == self.value),
            self._configurations(),
            lacking(cells, self.summary, self.plan),
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
        tree = self.results.header.tree()
        return canonical({key: value for key, value in tree.items() if key != "created"})

    def _configurations(self) -> dict[str, JsonText]:
        """By digest."""
        return {record.digest: record.configuration for record in self.results.records()}


def read_sides(folder: Path, others: Sequence[str], axis: str) -> tuple[EvaluationSide, EvaluationSide]:
    """The two sides that somebody has named.

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


def _read(folder: Path) -> EvaluationSide:
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    return EvaluationSide(results, plan, summary_of(results, plan))
