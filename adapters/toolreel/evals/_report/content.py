"""All figures of a report, computed once for page and pictures, and the pictures by their file names."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel.evals._report.costs import Costs, costs_drawing, costs_of
from toolreel.evals._report.failures import Breakdown, breakdown, failures_drawing
from toolreel.evals._report.forest import StrategyPair, compared_strategies, forest_drawing
from toolreel.evals._report.heat import HeatMap, heat_drawing, heat_map
from toolreel.evals._report.svg import Drawing
from toolreel.evals._store.plans import plan_of_header
from toolreel.evals._store.results import Results
from toolreel.evals._summary.export import summary_of
from toolreel.evals._summary.figures import Findings, findings_of
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._summary.summary import Summary


@dataclass(frozen=True, slots=True)
class ReportContent:
    """What an evaluation came to, in the forms that a report shows."""

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
