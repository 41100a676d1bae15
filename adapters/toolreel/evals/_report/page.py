"""The report as one self-contained HTML page, and its pictures as files.

Texts of models and servers are escaped. A content security policy in the page allows only its own script and
style, by their digests, so injected markup would not run. Only the page needs Jinja2.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from toolreel._internal.errors import MissingExtra
from toolreel._internal.visible_text import printable
from toolreel.evals import _report as report
from toolreel.evals._report.cost_scatter import Costs, costs_drawing, costs_of
from toolreel.evals._report.failure_bar_chart import Breakdown, breakdown, failures_drawing
from toolreel.evals._report.forest import StrategyPair, compared_strategies, forest_drawing
from toolreel.evals._report.heat_map import HeatMap, heat_drawing, heat_map, label_of, split_bar, split_words
from toolreel.evals._report.side_by_side import SideBySide, side_by_side
from toolreel.evals._report.svg import (
    RESULTS,
    Drawing,
    drawing_css,
    interval_words,
    percent,
    points,
    thousands,
    truncated,
)
from toolreel.evals._report.transcript_selection import TRANSCRIPTS, Selection, select_runs
from toolreel.evals._report.transcripts import Transcript, transcript_of
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics.intervals import methods_of
from toolreel.evals._store.configuration_differences import strategy_differences
from toolreel.evals._store.results import Results
from toolreel.evals._summary.cell_rates import common_trials
from toolreel.evals._summary.plan_changes import gates_set_later, plan_changes
from toolreel.evals._summary.plan_gates import gates_of
from toolreel.evals._summary.run_pairs import Match
from toolreel.evals._summary.summary_files import summary_of
from toolreel.evals._summary.summary_statistics import Findings, findings_of
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._summary.summary import RunEntry, Summary
from toolreel_core.evals._summary.totals import ResultCounts, Usage


@dataclass(frozen=True, slots=True)
class ReportContent:
    """All figures of a report."""

    results: Results
    plan: EvalPlan
    summary: Summary
    findings: Findings
    heat: HeatMap
    compared: tuple[StrategyPair, ...]
    breakdown: Breakdown
    costs: Costs


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
        breakdown(findings.taxonomy),
        costs_of(summary, plan),
    )


def drawings(content: ReportContent) -> tuple[Drawing, ...]:
    """All pictures: heat map, strategies, failures, cost."""
    return (
        heat_drawing(content.heat),
        forest_drawing(content.findings.strategies, content.compared),
        failures_drawing(content.breakdown),
        costs_drawing(content.costs),
    )


def report_pictures(content: ReportContent) -> dict[str, str]:
    """The text of each file, such as that of ``heatmap.svg``."""
    return {f"{drawing.name}.svg": drawing.standalone for drawing in drawings(content)}


if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_PAGE: Final = "page.html.jinja"
_NAME: Final = 12
"""Digits of a key that name a run."""
_BRIEF: Final = 240


@dataclass(frozen=True, slots=True)
class _Run:
    """A run, as the page shows it."""

    entry: RunEntry
    label: str
    command: str
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs of one task."""

    match: Match
    label: str
    first: Transcript
    second: Transcript
    side_by_side: SideBySide


def _plan_notes(found: ReportContent) -> Iterator[str]:
    """What was changed in the plan after the first run, and gates that were set then."""
    header = found.results.header
    yield from plan_changes(header)
    if late := len(gates_set_later(header, gates_of(found.plan))):
        yield f"Gates that were set after the runs: {late}."


def report_page(found: ReportContent, max_runs: int = TRANSCRIPTS) -> str:
    """The whole page; the same results give the same page.

    :raises ResultsError: if the results cannot be read
    """
    environment = _environment()
    chosen = select_runs(found.summary, max_runs)
    transcripts = _transcripts(found, chosen)
    css, js = drawing_css() + _asset("page.css"), _asset("page.js")
    page = environment.get_template(_PAGE)
    bad = [entry for cell in found.summary.cells for entry in cell.entries if entry.result != "pass"]
    return page.render(
        title=_title(found.summary),
        css=_markup(css),
        js=_markup(js),
        css_hash=_digest(css),
        js_hash=_digest(js),
        header=found.results.header,
        plan=found.plan,
        summary=found.summary,
        counts=found.summary.counts(),
        findings=found.findings,
        k=common_trials(found.findings.trials, found.findings.rule),
        notes=[*_plan_notes(found), *found.findings.notes, *found.summary.warnings],
        usage=sum((task.usage for task in found.summary.tasks), start=Usage()),
        heat=found.heat,
        compared=found.compared,
        breakdown=found.breakdown,
        costs=found.costs,
        pictures={drawing.name: _markup(drawing.inline) for drawing in drawings(found)},
        results=RESULTS,
        models=_served(found.summary),
        differences=strategy_differences(found.plan),
        selection=chosen,
        anchors=frozenset(transcripts),
        bad=_runs(found, bad, transcripts),
        told_runs=_runs(found, chosen.entries, transcripts),
        pairs=[_pair(found, match, transcripts) for match in chosen.pairs],
    )


def _environment() -> Environment:
    """Where the page is written; every text in it is escaped, and what cannot be seen is spelt out."""
    # Imported here, since importing any name of `toolreel.evals` loads this module; only pages need Jinja2.
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtra.of("report", "jinja2") from error
    environment = Environment(
        loader=DictLoader({_PAGE: _asset(_PAGE)}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
        finalize=_finished,
    )
    filters: Mapping[str, Callable[..., object]] = {
        "anchor": lambda key: f"run-{key[:_NAME]}",
        "bar": _bar,
        "bounded": truncated,
        "breaking": _breaking,
        "brief": lambda text: truncated(text, _BRIEF),
        "interval": interval_words,
        "methods": lambda totals: methods_of(each.clustered.interval for each in totals if each.clustered),
        "percent": percent,
        "points": points,
        "split": split_words,
        "thousands": thousands,
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


def _bar(counts: ResultCounts) -> Markup:
    label = _markup('<svg width="96" height="7" viewBox="0 0 96 7" role="img" aria-label="{}">')
    return label.format(split_words(counts)) + _markup(f"{split_bar(counts, 1, 1, 94, 5)}</svg>")


def _breaking(name: str) -> Markup:
    """A name that may go on in the next line after each of its parts."""
    return _markup("_<wbr>").join(printable(name).split("_"))


def _title(summary: Summary) -> str:
    models = [*dict.fromkeys(task.cell.model for task in summary.tasks)]
    return f"Evaluation of {models[0] if len(models) == 1 else f'{len(models)} models'}"


def _served(summary: Summary) -> dict[str, tuple[str, ...]]:
    """Who answered for each model."""
    found: dict[str, set[str]] = {}
    for cell in summary.cells:
        found.setdefault(cell.cell.model, set()).update(cell.served)
    return {model: tuple(sorted(names)) for model, names in found.items()}


def _transcripts(found: ReportContent, chosen: Selection) -> dict[str, Transcript]:
    """Transcripts of the selected runs by key."""
    keys = {entry.key for entry in chosen.entries}
    records = (record for record in found.results.records() if record.key in keys)
    return {record.key: transcript_of(record, found.plan, found.results.path) for record in records}


def _runs(
    found: ReportContent, entries: Iterable[RunEntry], transcripts: Mapping[str, Transcript]
) -> list[_Run]:
    where = shlex.quote(str(found.results.path))
    return [
        _Run(
            entry,
            label_of(entry.cell, found.plan),
            f"toolreel eval replay {where} {entry.key[:_NAME]}",
            transcripts.get(entry.key, Transcript()),
        )
        for entry in entries
    ]


def _pair(found: ReportContent, match: Match, transcripts: Mapping[str, Transcript]) -> _Pair:
    first, second = transcripts[match.first.key], transcripts[match.second.key]
    cell = match.first.cell
    language = cell.language if len(found.plan.languages) > 1 else ""
    parts = (cell.model, cell.profile, cell.fallback, language, cell.endpoint, cell.scenario)
    label = f"{', '.join(filter(None, parts))}, trial {match.first.trial}"
    return _Pair(match, label, first, second, side_by_side(first, second))


def _asset(name: str) -> str:
    return resources.files(report).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """How the page's policy names one of its own elements."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
