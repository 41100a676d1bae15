"""All figures of a report, worked out once for page and pictures."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel.evals._report.costs import Costs, costs_of
from toolreel.evals._report.failures import Breakdown, breakdown
from toolreel.evals._report.forest import StrategyPair, compared_strategies
from toolreel.evals._report.heat import HeatMap, heat_map
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
