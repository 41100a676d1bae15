"""All figures of a report, worked out once for page and pictures."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel.evals.planning import EvalPlan
from toolreel.evals.summaries import Summary
from toolreel_adapters.evals.exporting import summary_of
from toolreel_adapters.evals.figures import Findings, findings_of
from toolreel_adapters.evals.plans import plan_in
from toolreel_adapters.evals.report.costs import Costs, costs_of
from toolreel_adapters.evals.report.failures import Breakdown, breakdown
from toolreel_adapters.evals.report.forest import Compared, compared_strategies
from toolreel_adapters.evals.report.heat import HeatMap, heat_map
from toolreel_adapters.evals.results import Results

__all__ = ["Content", "content_of"]


@dataclass(frozen=True, slots=True)
class Content:
    """What an evaluation came to, in the forms that a report shows."""

    results: Results
    plan: EvalPlan
    summary: Summary
    findings: Findings
    heat: HeatMap
    compared: tuple[Compared, ...]
    breakdown: Breakdown
    costs: Costs


def content_of(results: Results) -> Content:
    """Work out what a report shows.

    :raises ResultsError: if the results cannot be read
    :raises ConfigError: if the plan names something that has gone
    """
    plan = plan_in(results.header)
    summary = summary_of(results, plan)
    findings = findings_of(summary, plan)
    return Content(
        results,
        plan,
        summary,
        findings,
        heat_map(summary, plan),
        compared_strategies(summary, findings),
        breakdown(findings.taxonomy),
        costs_of(summary, plan),
    )
