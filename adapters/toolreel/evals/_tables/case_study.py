"""The figures of the tool calling case study, and an evaluation compared with them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from toolreel.evals._statistics.intervals import wilson
from toolreel.evals._statistics.side_differences import stratified_bounds
from toolreel.evals._summary.summary_files import interval_tree
from toolreel.evals._tables.table import TextTable, interval_text, out_of, percent, points
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import CellSummary, Count, Interval, Summary, total

_STUDIED: Final = "study_"


@dataclass(frozen=True, slots=True)
class StudiedStrategy:
    """What the study states about one strategy."""

    tools: Count
    scenarios: Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class StudiedModel:
    """What the study states about one model under ``production``."""

    profile: str
    """The best one."""
    tools: Count


@dataclass(frozen=True, slots=True)
class CaseStudy:
    """All figures of the study."""

    source: str
    strategies: Mapping[str, StudiedStrategy]
    models: Mapping[str, StudiedModel]


def case_study() -> CaseStudy:
    """The figures that are shipped.

    >>> case_study().strategies["raw"].tools
    Count(passed=496, runs=580)
    """
    tree = tomllib.loads(files("toolreel.evals._tables").joinpath("case_study.toml").read_text("utf-8"))
    return CaseStudy(
        tree["source"],
        {name: _strategy(each) for name, each in tree["strategy"].items()},
        {name: StudiedModel(each["profile"], Count(*each["tools"])) for name, each in tree["model"].items()},
    )


def _strategy(tree: Mapping[str, Any]) -> StudiedStrategy:
    scenarios = {name: Count(*count) for name, count in tree["scenarios"].items()}
    return StudiedStrategy(Count(*tree["tools"]), scenarios)


@dataclass(frozen=True, slots=True)
class BesideRow:
    """One rate of the study and the same of an evaluation."""

    strategy: str
    of: str
    """A scenario of the study, ``tool scenarios``, or a model."""
    study: Count
    ours: Count
    """Counted as the study counts: of all runs, valid or not."""
    valid: int
    """Of ours."""

    @property
    def interval(self) -> Interval:
        """Of our rate less the study's, by Newcombe's method: as if all runs were independent."""
        return Interval(*stratified_bounds([self.study], [self.ours], 0.05), 0.95, "Newcombe")

    @property
    def difference(self) -> float:
        """Our rate less the study's."""
        return self.ours.passed / self.ours.runs - self.study.passed / self.study.runs


@dataclass(frozen=True, slots=True)
class Beside:
    """An evaluation compared with the study."""

    study: CaseStudy
    rows: tuple[BesideRow, ...]
    models: tuple[BesideRow, ...]
    """Of the models that both have, under ``production``: the study's best profile."""
    notes: tuple[str, ...]
    """What can be compared, and what cannot."""


def beside_case_study(summary: Summary) -> Beside:
    """Compare an evaluation with the study.

    Scenarios are taken from the group ``case-study`` if it was run, or else by their names.
    """
    study = case_study()
    studied = any(cell.cell.scenario.startswith(_STUDIED) for cell in summary.cells)
    cells = [cell for cell in summary.cells if _name(cell, studied=studied) in _scenarios(study)]
    rows = [row for name in study.strategies for row in _rows(study, name, cells, studied=studied)]
    models = [*_models(study, cells)]
    return Beside(study, tuple(rows), tuple(models), tuple(_notes(study, summary, cells, studied=studied)))


def _scenarios(study: CaseStudy) -> Iterable[str]:
    return next(iter(study.strategies.values())).scenarios


def _name(cell: CellSummary, *, studied: bool) -> str:
    """The study's name of a cell's scenario; empty if it has none."""
    name = cell.cell.scenario
    if studied:
        return name.removeprefix(_STUDIED) if name.startswith(_STUDIED) else ""
    return name


def _rows(
    study: CaseStudy, strategy: str, cells: Iterable[CellSummary], *, studied: bool
) -> Iterator[BesideRow]:
    told = study.strategies[strategy]
    its = [cell for cell in cells if cell.cell.strategy == strategy]
    for name, count in told.scenarios.items():
        yield from _row(strategy, name, count, [cell for cell in its if _name(cell, studied=studied) == name])
    names = {_name(cell, studied=studied) for cell in its if not cell.control}
    if len(names) == len(told.scenarios) - 1:
        yield from _row(strategy, "tool scenarios", told.tools, [cell for cell in its if not cell.control])


def _models(study: CaseStudy, cells: Iterable[CellSummary]) -> Iterator[BesideRow]:
    its = [cell for cell in cells if cell.cell.strategy == "production" and not cell.control]
    for name, told in study.models.items():
        of_model = [cell for cell in its if (cell.cell.model, cell.cell.profile) == (name, told.profile)]
        yield from _row("production", name, told.tools, of_model)


def _row(strategy: str, of: str, study: Count, cells: Iterable[CellSummary]) -> Iterator[BesideRow]:
    counts = [cell.counts for cell in cells]
    ours = total(Count(each.ok, each.runs) for each in counts)
    if ours.runs:
        yield BesideRow(strategy, of, study, ours, sum(each.valid for each in counts))


def _notes(
    study: CaseStudy, summary: Summary, cells: Iterable[CellSummary], *, studied: bool
) -> Iterator[str]:
    ours = dict.fromkeys(cell.cell.model for cell in cells)
    common = sum(model in study.models for model in ours)
    strategies = dict.fromkeys(cell.cell.strategy for cell in summary.cells)
    yield (
        f"Models: {common} of yours are among the {len(study.models)} of the study, {len(ours) - common} are "
        "not. Rates over different models say nothing about a change; compare by model."
    )
    yield (
        "Scenarios: those of the group case-study, with the study's user texts, caps and checks."
        if studied
        else "Scenarios: the built-in ones of the same names, which check more and cap less; for the study's "
        "caps and checks, run --scenarios case-study."
    )
    yield "Words: the study does not publish its system texts, so those that you ran are other words."
    yield (
        "Counting: all runs, as the study counts, so what a provider refused or failed is a failure on both "
        "sides here; `eval summarize` leaves it out."
    )
    yield "Intervals: of runs taken as independent, since the study publishes no cells; real ones are wider."
    if "raw" in strategies:
        yield "raw: the study's had workarounds of the provider and the model merged into it, yours has none."
    if missing := [name for name in study.strategies if name not in strategies]:
        yield f"Not run: {', '.join(missing)}."


def beside_tables(found: Beside) -> tuple[TextTable, ...]:
    """By strategy and scenario, and by model; empty tables are left out."""
    tables = (_table("strategies by scenarios", found.rows), _table("models, tool scenarios", found.models))
    return tuple(table for table in tables if table.rows)


def _table(title: str, rows: Iterable[BesideRow]) -> TextTable:
    head = ("strategy", "of", "study", "95%", "yours", "95%", "points", "95% of the difference", "valid")
    return TextTable(
        title,
        head,
        tuple(
            (
                row.strategy,
                row.of,
                _rate(row.study),
                interval_text(wilson(row.study)),
                _rate(row.ours),
                interval_text(wilson(row.ours)),
                points(row.difference),
                f"{points(row.interval.low)} to {points(row.interval.high)}",
                out_of(row.valid, row.ours.runs),
            )
            for row in rows
        ),
    )


def _rate(count: Count) -> str:
    return f"{out_of(count.passed, count.runs)} {percent(count.rate)}"


def beside_tree(found: Beside) -> dict[str, Json]:
    """All of it."""
    return {
        "source": found.study.source,
        "rows": [_tree(row) for row in found.rows],
        "models": [_tree(row) for row in found.models],
        "notes": list(found.notes),
    }


def _tree(row: BesideRow) -> Tree:
    return {
        "strategy": row.strategy,
        "of": row.of,
        "study": {
            "ok": row.study.passed,
            "runs": row.study.runs,
            "interval": interval_tree(wilson(row.study)),
        },
        "yours": {
            "ok": row.ours.passed,
            "runs": row.ours.runs,
            "valid": row.valid,
            "interval": interval_tree(wilson(row.ours)),
        },
        "difference": row.difference,
        "interval": interval_tree(row.interval),
    }
