"""The report as one self-contained HTML page.

Texts of models and servers are escaped, or are in data that the page's own script shows as text. Only the
page needs Jinja2.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolreel._internal import MissingExtra, asset, framed, printable
from toolreel.evals import _report as report
from toolreel.evals._report.heat_map import HeatMap, heat_map, split_bar, split_words
from toolreel.evals._report.run_data import cell_name, run_data, run_name
from toolreel.evals._report.transcripts import LONGEST, transcript_of
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics.intervals import methods_of, wilson
from toolreel.evals._store.configuration_differences import strategy_differences
from toolreel.evals._store.results import Results
from toolreel.evals._summary.plan_changes import gates_set_later, plan_changes, with_lateness
from toolreel.evals._summary.plan_gates import check_gates, gates_of
from toolreel.evals._summary.run_pairs import Match, pair_runs
from toolreel.evals._summary.summary_files import summary_of
from toolreel.evals._summary.summary_statistics import (
    Findings,
    counted_cells,
    findings_of,
    over_clusters,
    pass_count,
)
from toolreel.evals._tables.answer import Answer, StrategyPair, answer_of, compared_strategies
from toolreel.evals._tables.formats import (
    RESULTS,
    heat_class,
    interval_words,
    percent,
    points,
    result_css,
    thousands,
    truncated,
)
from toolreel_core._jsontext import Json
from toolreel_core.evals import Category, EvalPlan, GateResult, Interval, RunEntry, Summary, Usage, category


@dataclass(frozen=True, slots=True)
class ReportContent:
    """All figures of a report."""

    results: Results
    plan: EvalPlan
    summary: Summary
    findings: Findings
    heat: HeatMap
    compared: tuple[StrategyPair, ...]
    costs: tuple[TaskCost, ...]
    gates: tuple[GateResult, ...]

    @property
    def answer(self) -> Answer:
        """What the evaluation says, in a few sentences."""
        return answer_of(self.findings, self.compared, self.gates)


def report_content(results: Results) -> ReportContent:
    """Work out what a report shows.

    :raises ResultsError: if the results cannot be read
    :raises ConfigError: if the plan names something that has gone
    """
    plan = plan_of_header(results.header)
    summary = summary_of(results, plan)
    findings = findings_of(summary, plan)
    return ReportContent(
        results,
        plan,
        summary,
        findings,
        heat_map(summary, plan),
        compared_strategies(summary, findings),
        costs_of(summary, plan),
        with_lateness(check_gates(gates_of(plan), summary, plan), results.header),
    )


@dataclass(frozen=True, slots=True)
class TaskCost:
    """What a task cost; runs of controls count in it, as they do in no rate."""

    label: str
    runs: int
    rate: float
    interval: Interval
    tokens: float
    """Of a run, in and out."""
    cost: float | None
    """Of a run, in the provider's currency; ``None`` if it is not known."""


def costs_of(summary: Summary, plan: EvalPlan) -> tuple[TaskCost, ...]:
    """What each task cost that has a valid run."""
    found = []
    for task in summary.tasks:
        if rated := over_clusters(counted_cells(task.cells)):
            usage, runs = task.usage, task.counts().runs
            tokens = (usage.prompt_tokens + usage.completion_tokens) / runs
            cost = None if usage.cost is None else usage.cost / runs
            found.append(TaskCost(plan.label(task.cell), runs, rated.rate, rated.interval, tokens, cost))
    return tuple(found)


if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_PAGE: Final = "page.html.jinja"
_SCRIPTS: Final = ("transcripts.js", "explorer.js")
_FLIPS: Final = 24
"""Pairs that the page lists; a run leads to the others."""


def runs_by_need(found: ReportContent) -> tuple[RunEntry, ...]:
    """All runs, those first that are most worth reading: failures."""
    return tuple(sorted((entry for cell in found.summary.cells for entry in cell.entries), key=_need))


def report_page(
    found: ReportContent,
    max_runs: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
) -> str:
    """The whole page; the same results give the same page.

    :param max_runs: how many runs are told turn by turn, failures first; all, if it is left out
    :param on_run: called after each run that was replayed, with how many were and how many will be
    :raises ResultsError: if the results cannot be read
    """
    folder = _folder(found.results.path)
    data = run_data(found.summary, found.plan, _transcripts(found, max_runs, on_run), shlex.quote(folder))
    return framed(
        _title(found.summary),
        _body(found, folder, _told(found.summary, max_runs, data.longest)),
        styles=(result_css(), asset(report, "page.css")),
        scripts=tuple(asset(report, name) for name in _SCRIPTS),
        data=data.elements,
    )


def _body(found: ReportContent, folder: str, told: str) -> str:
    turned = _flips(found.summary)
    return (
        _environment(found)
        .get_template(_PAGE)
        .render(
            title=_title(found.summary),
            answer=found.answer,
            header=found.results.header,
            plan=found.plan,
            summary=found.summary,
            counts=found.summary.counts(),
            findings=found.findings,
            k=found.findings.trials,
            notes=[*_plan_notes(found), *found.findings.notes, *found.summary.warnings],
            usage=sum((task.usage for task in found.summary.tasks), start=Usage()),
            heat=found.heat,
            compared=found.compared,
            failures=_failures(found.findings.taxonomy),
            costs=found.costs,
            results=RESULTS,
            models=_served(found.summary),
            differences=strategy_differences(found.plan),
            flips=turned[:_FLIPS],
            all_flips=len(turned),
            folder=folder,
            told=told,
        )
    )


def _environment(found: ReportContent) -> Environment:
    """Where the page is written; every text in it is escaped, and what cannot be seen is spelt out."""
    # Imported here, since importing any name of `toolreel.evals` loads this module; only pages need Jinja2.
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtra.of("report", "jinja2") from error
    environment = Environment(
        loader=DictLoader({_PAGE: asset(report, _PAGE)}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
        finalize=_finished,
    )
    filters: Mapping[str, Callable[..., object]] = {
        "bar": lambda counts: _markup(split_bar(counts)),
        "bounded": truncated,
        "breaking": _breaking,
        "cell_name": cell_name,
        "heat": heat_class,
        "interval": interval_words,
        "methods": lambda totals: methods_of(each.clustered.interval for each in totals if each.clustered),
        "pair_label": lambda match: _pair_label(match, found.plan),
        "percent": percent,
        "points": points,
        "quoted": shlex.quote,
        "run_name": run_name,
        "split": split_words,
        "thousands": thousands,
        "wilson": lambda cell: interval_words(wilson(pass_count(cell))),
    }
    environment.filters.update(filters)
    return environment


def _finished(value: object) -> object:
    from markupsafe import Markup

    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _markup(text: str) -> Markup:
    """A text of this package's own, which is no text of a model."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - see above


def _breaking(name: str) -> Markup:
    """A name that may go on in the next line after each of its parts."""
    return _markup("_<wbr>").join(printable(name).split("_"))


def _title(summary: Summary) -> str:
    models = [*dict.fromkeys(task.cell.model for task in summary.tasks)]
    return f"Evaluation of {models[0] if len(models) == 1 else f'{len(models)} models'}"


def _folder(path: Path) -> str:
    """What the page calls the directory: by its name alone, since its reader may have it elsewhere."""
    return path.resolve().name


def _plan_notes(found: ReportContent) -> Iterator[str]:
    """What was changed in the plan after the first run, and gates that were set then."""
    header = found.results.header
    yield from plan_changes(header)
    if late := len(gates_set_later(header, gates_of(found.plan))):
        yield f"Gates that were set after the runs: {late}."


def _served(summary: Summary) -> dict[str, tuple[str, ...]]:
    """Who answered for each model."""
    found: dict[str, set[str]] = {}
    for cell in summary.cells:
        found.setdefault(cell.cell.model, set()).update(cell.served)
    return {model: tuple(sorted(names)) for model, names in found.items()}


_NEED: Final = ("fail", "pass_unexercised", "void", "unsupported", "pass")
"""Results, those of runs that are most worth reading first."""


def _transcripts(
    found: ReportContent, max_runs: int | None, on_run: Callable[[int, int], None] | None
) -> dict[str, Json]:
    """The transcripts of runs by key, as data: so, a megabyte that a model wrote is not kept."""
    keys = {entry.key for entry in runs_by_need(found)[:max_runs]}
    told: dict[str, Json] = {}
    for record in found.results.records():
        if record.key in keys:
            told[record.key] = transcript_of(record, found.plan, found.results.path)
            if on_run:
                on_run(len(told), len(keys))
    return told


def _need(entry: RunEntry) -> tuple[int, int]:
    return _NEED.index(entry.result), entry.trial


def _told(summary: Summary, max_runs: int | None, longest: int) -> str:
    runs = summary.counts().runs
    if max_runs is not None and max_runs < runs:
        told = f"Of {runs:,} runs, {max_runs:,} are told turn by turn, failures first."
    else:
        told = "All runs are told turn by turn."
    if longest < LONGEST:
        told += f" Texts are cut after {longest:,} characters, so that the page stays small."
    return told


def _failures(taxonomy: Mapping[str, Mapping[str, int]]) -> list[tuple[Category, tuple[int, ...]]]:
    """Failure categories with their number of runs by strategy, the most frequent first."""
    names = {name for found in taxonomy.values() for name in found}
    counted = [(name, tuple(found.get(name, 0) for found in taxonomy.values())) for name in names]
    ordered = sorted(counted, key=lambda row: (-sum(row[1]), row[0]))
    return [(replace(category(name), name=name), counts) for name, counts in ordered]


def _flips(summary: Summary) -> tuple[Match, ...]:
    """One task under two strategies of which one run passed: those that are unlike each other first."""
    groups: dict[tuple[str, ...], list[Match]] = {}
    for first, second in combinations(dict.fromkeys(task.cell.strategy for task in summary.tasks), 2):
        one, other = (
            [entry for cell in summary.cells if cell.cell.strategy == name for entry in cell.entries]
            for name in (first, second)
        )
        for match in pair_runs(one, other, "strategy").both:
            if match.flip:
                groups.setdefault((first, second, match.first.cell.scenario, match.flip), []).append(match)
    return tuple(match for row in zip_longest(*groups.values()) for match in row if match is not None)


def _pair_label(match: Match, plan: EvalPlan) -> str:
    cell = match.first.cell
    parts = (
        cell.model if len(plan.models) > 1 else "",
        cell.profile if len({name for _, name in plan.pairs}) > 1 else "",
        cell.fallback if len(plan.fallbacks) > 1 else "",
        cell.endpoint,
        cell.scenario,
    )
    return f"{', '.join(filter(None, parts))}, trial {match.first.trial}"
