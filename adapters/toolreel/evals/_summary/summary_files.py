"""Write the summary files of an evaluation: the reference's fields, and our figures next to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from toolreel._secrets.urls import shown_url
from toolreel.evals._runner.adaptive import required_trials, stops_of
from toolreel.evals._statistics.intervals import Clustered
from toolreel.evals._statistics.multiple_comparisons import TiesFound
from toolreel.evals._store.results import Results, write_json
from toolreel.evals._summary.cell_rates import cell_interval, cell_rate, over_clusters, task_rate
from toolreel.evals._summary.plan_changes import earlier_digests
from toolreel.evals._summary.summary_statistics import Findings, Total, findings_of
from toolreel_core._jsontext.canonical import Json, Tree, parse
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import WITH_CASE_STUDY
from toolreel_core.evals._statistics.declared_stopping_rules import Rule
from toolreel_core.evals._statistics.interval import Interval
from toolreel_core.evals._statistics.pass_at_k import CellMean
from toolreel_core.evals._summary.reference_harness_files import (
    BY_SCENARIO,
    BY_STRATEGY,
    SUMMARY,
    summary_files,
)
from toolreel_core.evals._summary.summary import CellSummary, Summary, TaskSummary, summarise


def with_figures(files: Mapping[str, Tree], summary: Summary, findings: Findings) -> dict[str, Tree]:
    """The files of a summary with intervals in them, and all other figures in ``summary.json``."""
    whole = dict(files[SUMMARY])
    tasks = zip(cast("list[Tree]", whole.pop("models")), summary.tasks, strict=True)
    cells = summary.cells
    return {
        SUMMARY: {
            **whole,
            "figures": figure_tree(findings),
            "models": [{**row, **_of_task(task, findings)} for row, task in tasks],
        },
        BY_SCENARIO: _with_clusters(files[BY_SCENARIO], cells, findings.rule),
        BY_STRATEGY: _by_axis(files[BY_STRATEGY], cells, "strategy", findings.rule),
    }


def figure_tree(findings: Findings) -> dict[str, Json]:
    """All that is worked out from a summary."""
    return {
        "whole": _total_tree(findings.whole),
        "strategies": {total.name: _total_tree(total) for total in findings.strategies},
        "models": {total.name: _total_tree(total) for total in findings.models},
        "strategy_ties": _ties(findings.strategy_ties),
        "model_ties": _ties(findings.model_ties),
        "taxonomy": {name: dict(found) for name, found in findings.taxonomy.items()},
        "notes": list(findings.notes),
    }


def interval_tree(interval: Interval | None) -> Json:
    """An interval, with the name of its formula."""
    return asdict(interval) if interval else None


def _total_tree(total: Total) -> Tree:
    return {
        **total.counts.tree(),
        "rate": total.rate,
        "exercised_rate": total.exercised_rate,
        **_after_silence(total.ok_after_silence),
        **_clustered(total.clustered),
        "pass_at_1": _mean_tree(total.pass_at_1),
        "pass_hat_k": _mean_tree(total.pass_hat_k),
        "last_attempt_ms_p50_nearest_rank": total.p50_ms,
        "last_attempt_ms_p95_nearest_rank": total.p95_ms,
        "usage": total.usage.tree(),
    }


def _mean_tree(mean: CellMean) -> Tree:
    tree: Tree = asdict(mean)
    return {key: value for key, value in tree.items() if key != "reason" or value}


def _after_silence(runs: int) -> dict[str, Json]:
    return {"ok_after_silence": runs} if runs else {}


def _clustered(found: Clustered | None) -> dict[str, Json]:
    if found is None:
        return {"interval": None}
    return {
        "interval": interval_tree(found.interval),
        "clusters": found.clusters,
        "models": found.models,
        "cells_left_out": found.left_out,
        "design_effect": found.design_effect,
    }


def _ties(found: TiesFound) -> Tree:
    return {
        "sets": [list(names) for names in found.ties.sets],
        "letters": dict(found.ties.letters),
        "alpha": found.alpha,
        "p_values": [
            {"first": first, "second": second, "p_holm": value}
            for (first, second), value in found.p_values.items()
        ],
        "left_out": list(found.left_out),
    }


def _of_task(task: TaskSummary, findings: Findings) -> Tree:
    return {
        **_part("tool", task_rate(task, findings.rule, control=False)),
        **_part("control", task_rate(task, findings.rule, control=True)),
        "cells": {cell.cell.scenario: _of_cell(cell, findings) for cell in task.cells},
    }


def _part(prefix: str, found: Clustered | None) -> dict[str, Json]:
    """The mean over scenarios and its interval; the reference's ``ok_rate`` is of all runs together."""
    return {
        f"{prefix}_rate": found.rate if found else None,
        f"{prefix}_interval": interval_tree(found.interval if found else None),
    }


def _of_cell(cell: CellSummary, findings: Findings) -> Tree:
    stop = findings.stops.get(cell.cell)
    decided: Tree = {"stopped": {"runs": stop.trials, "why": stop.why}} if stop else {}
    return {
        **cell.counts.tree(),
        "rate": cell_rate(cell, findings.rule).rate,
        **_after_silence(cell.ok_after_silence),
        "interval": interval_tree(cell_interval(cell, findings.rule)),
        "categories": dict(cell.categories),
        "served": list(cell.served),
        **({"servers": list(cell.servers)} if len(cell.servers) > 1 else {}),
        **decided,
    }


def _with_clusters(table: Tree, cells: Sequence[CellSummary], rule: Rule | None) -> dict[str, Json]:
    """A table by scenarios, with the rate and the interval of each."""
    found = {
        name: over_clusters([cell for cell in cells if cell.cell.scenario == name], rule) for name in table
    }
    return {
        name: {**cast("Tree", row), **_rate_tree(found[name]), **_clustered(found[name])}
        for name, row in table.items()
    }


def _rate_tree(found: Clustered | None) -> dict[str, Json]:
    return {"rate": found.rate} if found else {}


def _by_axis(table: Tree, cells: Sequence[CellSummary], axis: str, rule: Rule | None) -> Tree:
    tables = cast("Mapping[str, Tree]", table)
    return {
        value: _with_clusters(rows, [cell for cell in cells if getattr(cell.cell, axis) == value], rule)
        for value, rows in tables.items()
    }


def cells_of(plan: EvalPlan) -> tuple[Cell, ...]:
    """The cells of a plan, task by task, in its order."""
    return tuple(task.cell(each.name) for task in plan.tasks() for each in plan.scenarios)


def summary_of(results: Results, plan: EvalPlan) -> Summary:
    """The summary of an evaluation.

    Runs that its rule for stopping early has spared are not missing.
    """
    controls = [each.name for each in WITH_CASE_STUDY if each.control]
    whole = summarise(results.records(), required_trials(plan, {}), controls, plan.options.accepted_voids)
    # The rule is asked after the journal was read, so that this is done once.
    stops = stops_of(whole, plan)
    return whole.needing(required_trials(plan, stops)) if stops else whole


def summary_trees(summary: Summary, findings: Findings, results: Results, plan: EvalPlan) -> dict[str, Tree]:
    """The files of a summary by name, each as a tree."""
    return with_figures(summary_files(summary, _about(summary, results, plan)), summary, findings)


def write_summaries(results: Results, plan: EvalPlan) -> Summary:
    """Write the four files of a summary into the directory of the results.

    :raises ResultsError: if the results cannot be read, or the files cannot be written
    """
    summary = summary_of(results, plan)
    write_trees(results.path, summary_trees(summary, findings_of(summary, plan), results, plan))
    return summary


def write_trees(folder: Path, trees: Mapping[str, Tree]) -> None:
    """Write the files of a summary.

    :raises ResultsError: if one cannot be written
    """
    for name, tree in trees.items():
        write_json(folder / name, tree)


def _about(summary: Summary, results: Results, plan: EvalPlan) -> dict[str, Json]:
    """The options of the evaluation, by the reference's names and in its order."""
    options, endpoint = plan.options, plan.endpoint
    profiles = dict.fromkeys(profile for _, profile in plan.pairs)
    return {
        "ts": results.header.created,
        "base_url": shown_url(endpoint.base_url),
        **_endpoints(plan),
        "api_prefix": endpoint.api_prefix,
        "http_adapter": "httpx",
        "client_timeout": endpoint.timeout,
        "client_open_timeout": endpoint.open_timeout,
        "client_read_timeout": endpoint.read_timeout,
        "fix_empty_final": options.fix_empty_final,
        "tool_use_mode": options.tool_use_mode,
        "tool_failure_policy": options.tool_failure_policy,
        "tool_calling_fallback_retry_count": options.fallback_retries,
        "tool_allowlist": list(options.tool_allowlist),
        "request_overrides": parse(options.request_overrides),
        "sampling_profile_filter": list(options.profiles),
        "sampling_profiles": list(profiles),
        "sampling_profile_enforce_applicability": options.enforce_applicability,
        "llm_options_defaults_overrides": parse(options.sampling),
        "model_filter": None if options.models is None else list(options.models),
        "selected_models": list(plan.models),
        "strategy_filter": list(options.strategies),
        "strategy_matrix": len(plan.strategies) > 1,
        "strategies": [strategy.name for strategy in plan.strategies],
        "content_tag_tool_call_fallback_global_override": options.content_tag_fallback,
        "best_effort_content_tag_tool_call_fallback_models": _reading_text(summary),
        "fallback_matrix": options.fallback_matrix,
        "fallback_profiles": list(plan.fallbacks),
        "jobs": options.jobs,
        "trials_per_model": plan.trials,
        "scenarios": [scenario.name for scenario in plan.scenarios],
        "output_dir": results.path.resolve().name,
        "plan": plan.digest,
        **earlier_digests(results.header),
        **({"shard": str(plan.shard)} if plan.shard else {}),
        "versions": dict(results.header.versions),
    }


def _endpoints(plan: EvalPlan) -> dict[str, Json]:
    """Where the endpoints with names are; nothing where there are none."""
    places: Tree = {each.name: shown_url(each.server.base_url) for each in plan.named_endpoints}
    return {"endpoints": places} if places else {}


def _reading_text(summary: Summary) -> list[Json]:
    """The models that had calls read from text under the profile ``best_effort``."""
    cells = (cell for cell in summary.cells if cell.cell.fallback == "best_effort")
    return [*dict.fromkeys(cell.cell.model for cell in cells if any(run.text_calls for run in cell.entries))]
