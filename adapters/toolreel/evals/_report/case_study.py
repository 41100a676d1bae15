"""An evaluation beside the published figures of the tool calling case study."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from toolreel.evals._report.rendering import TextTable, percent, points
from toolreel.evals._statistics import wilson_bounds
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import Trial

_STUDIED: Final = "study_"


def case_study() -> dict[str, Any]:
    """The figures that are shipped: ``strategy`` and ``model`` by name, each with counts of passes and runs.

    >>> case_study()["strategy"]["raw"]["tools"]
    [496, 580]
    """
    text = files("toolreel.evals._report").joinpath("case_study.toml").read_text("utf-8")
    return tomllib.loads(text)


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One rate of the study and the same of an evaluation, counted as the study counts: of all runs."""

    strategy: str
    of: str
    """A scenario of the study, ``tool scenarios``, or a model."""
    study: tuple[int, int]
    """Passed, and all."""
    ours: tuple[int, int]
    valid: int
    """Of ours."""

    @property
    def difference(self) -> tuple[float, float, float]:
        """Our rate less the study's, with Newcombe's interval: as if all runs were independent."""
        (passed, runs), (theirs, others) = self.ours, self.study
        p, q = passed / runs, theirs / others
        (p_low, p_high), (q_low, q_high) = wilson_bounds(passed, runs), wilson_bounds(theirs, others)
        below, above = (
            ((p - p_low) ** 2 + (q_high - q) ** 2) ** 0.5,
            ((q - q_low) ** 2 + (p_high - p) ** 2) ** 0.5,
        )
        return p - q, p - q - below, p - q + above


def beside_case_study(trials: Sequence[Trial]) -> tuple[list[StudyRow], list[StudyRow], list[str]]:
    """Rows by strategy and scenario, rows by model under ``production``, and what can be compared.

    Scenarios are taken from the group ``case-study`` if it was run, or else by their names.
    """
    study = case_study()
    studied = any(one.cell.scenario.startswith(_STUDIED) for one in trials)
    scenarios = study["strategy"]["raw"]["scenarios"]
    prefix = _STUDIED if studied else ""
    made = [
        one
        for one in trials
        if one.key
        and one.cell.scenario.startswith(prefix)
        and one.cell.scenario.removeprefix(prefix) in scenarios
    ]
    rows = [row for name in study["strategy"] for row in _rows(study["strategy"][name], name, made, prefix)]
    models = [
        row
        for name, each in study["model"].items()
        for row in _row(
            "production",
            name,
            each["tools"],
            (
                one
                for one in made
                if not one.control
                and (one.cell.model, one.cell.profile, one.cell.strategy)
                == (name, each["profile"], "production")
            ),
        )
    ]
    return rows, models, [*_notes(study, trials, made, studied=studied)]


def _rows(study: Mapping[str, Any], strategy: str, made: Iterable[Trial], prefix: str) -> Iterator[StudyRow]:
    ours = [one for one in made if one.cell.strategy == strategy]
    for name, count in study["scenarios"].items():
        yield from _row(
            strategy, name, count, (one for one in ours if one.cell.scenario == f"{prefix}{name}")
        )
    tools = [one for one in ours if not one.control]
    if len({one.cell.scenario for one in tools}) == len(study["scenarios"]) - 1:
        yield from _row(strategy, "tool scenarios", study["tools"], tools)


def _row(strategy: str, of: str, study: Sequence[int], trials: Iterable[Trial]) -> Iterator[StudyRow]:
    rows = [*trials]
    if rows:
        passed, runs = study
        ours = sum(one.ok for one in rows), len(rows)
        yield StudyRow(strategy, of, (passed, runs), ours, sum(one.valid for one in rows))


def _notes(
    study: Mapping[str, Any], trials: Iterable[Trial], made: Iterable[Trial], *, studied: bool
) -> Iterator[str]:
    ours = dict.fromkeys(one.cell.model for one in made)
    common = sum(model in study["model"] for model in ours)
    strategies = dict.fromkeys(one.cell.strategy for one in trials)
    yield f"compared with: {study['source']}"
    yield (
        f"Models: {common} of yours are among the {len(study['model'])} of the study, {len(ours) - common} "
        "are not. Rates over different models say nothing about a change; compare by model."
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
    if missing := [name for name in study["strategy"] if name not in strategies]:
        yield f"Not run: {', '.join(missing)}."


def study_table(title: str, rows: Iterable[StudyRow]) -> TextTable:
    """Rates of the study and ours side by side."""
    head = ("strategy", "of", "study", "95%", "yours", "95%", "points", "95% of the difference", "valid")
    return TextTable(
        title,
        head,
        tuple(
            (
                *(row.strategy, row.of),
                *_counted(row.study),
                *_counted(row.ours),
                points(row.difference[0]),
                f"{points(row.difference[1])} to {points(row.difference[2])}",
                f"{row.valid}/{row.ours[1]}",
            )
            for row in rows
        ),
    )


def _counted(count: tuple[int, int]) -> tuple[str, str]:
    low, high = wilson_bounds(*count)
    return f"{count[0]}/{count[1]} {percent(count[0] / count[1])}", f"{100 * low:.1f}-{100 * high:.1f}"


def study_tree(rows: Iterable[StudyRow]) -> list[Json]:
    """The same for machines."""
    found: list[Json] = []
    for row in rows:
        tree: Tree = {
            "strategy": row.strategy,
            "of": row.of,
            "study": {"ok": row.study[0], "runs": row.study[1]},
            "yours": {"ok": row.ours[0], "runs": row.ours[1], "valid": row.valid},
            **dict(zip(("difference", "low", "high"), row.difference, strict=True)),
        }
        found.append(tree)
    return found
