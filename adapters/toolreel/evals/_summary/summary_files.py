"""Write the summary files of an evaluation: the reference's fields, and our figures next to them.

``ok`` counts runs that passed, exercised or not, as the reference harness does, and ``runs`` all of them;
rates are of valid runs, which the reference does not tell apart, and ``coverage`` says how many those are.
What the reference has no word for is next to its fields under a name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from toolreel._secrets import shown_url
from toolreel.evals._statistics.intervals import Clustered, wilson
from toolreel.evals._store.results import Results, write_json
from toolreel.evals._summary.plan_changes import earlier_digests
from toolreel.evals._summary.summary_statistics import (
    Findings,
    PValues,
    Total,
    findings_of,
    over_clusters,
    pass_count,
    recommendation,
    task_rate,
)
from toolreel_core._jsontext import Json, Tree, parse
from toolreel_core.evals import (
    TAXONOMY,
    WITH_CASE_STUDY,
    Cell,
    CellSummary,
    EvalPlan,
    Interval,
    ResultCounts,
    RunEntry,
    Summary,
    TaskSummary,
    alias_of,
    nearest_rank,
    reference_percentile,
    summarise,
)

SUMMARY: Final = "summary.json"
BY_SCENARIO: Final = "summary_by_scenario.json"
BY_STRATEGY: Final = "summary_by_scenario_and_strategy.json"

_FAILURES: Final = 3
"""Failed runs of a task that are listed again by themselves."""


def figure_tree(findings: Findings) -> dict[str, Json]:
    """All that is worked out from a summary."""
    return {
        "whole": _total_tree(findings.whole),
        "strategies": {total.name: _total_tree(total) for total in findings.strategies},
        "models": {total.name: _total_tree(total) for total in findings.models},
        "strategy_p_values": _p_values(findings.strategy_p_values),
        "model_p_values": _p_values(findings.model_p_values),
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
        "pass_at_1": asdict(total.pass_at_1),
        "pass_hat_k": asdict(total.pass_hat_k),
        "last_attempt_ms_p50_nearest_rank": total.p50_ms,
        "last_attempt_ms_p95_nearest_rank": total.p95_ms,
        "usage": total.usage.tree(),
    }


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
    }


def _p_values(found: PValues) -> list[Json]:
    return [{"first": first, "second": second, "p_holm": value} for (first, second), value in found.items()]


def _accepted(summary: Summary) -> Tree:
    """The void runs that are accepted, where the plan accepts any."""
    voids = summary.accepted_voids
    if not voids.categories:
        return {}
    told: Tree = {
        "categories": list(voids.categories),
        "runs": summary.accepted,
        "min_coverage": voids.min_coverage,
        "covered": summary.covered,
    }
    return {"accepted_void": told}


def _row(task: TaskSummary, plan: EvalPlan) -> Tree:
    """A task, and each of its runs."""
    counts, entries, name = task.counts(), task.entries(), plan.label(task.cell)
    return {
        **_axes(task.cell, name),
        "content_tag_tool_call_fallback": entries[0].text_calls,
        "ok_rate": counts.rate,
        **counts.tree(),
        **_times("", entries),
        **_part("tool", task, control=False),
        **_part("control", task, control=True),
        "recommended": recommendation(task),
        "usage": task.usage.tree(),
        "scenarios": [cell.cell.scenario for cell in task.cells],
        "run_results": [_run(entry, name) for entry in entries],
        "failure_samples": [_run(entry, name) for entry in entries if not entry.ok][:_FAILURES],
        "cells": {cell.cell.scenario: _of_cell(cell) for cell in task.cells},
    }


def _axes(cell: Cell, name: str) -> dict[str, Json]:
    """The fields that say which axes a row is about.

    :param name: the label of its task
    """
    return {
        "model": name,
        "model_base": cell.model,
        "strategy": cell.strategy,
        "fallback_profile": cell.fallback,
        "sampling_profile": cell.profile,
        **({"endpoint": cell.endpoint} if cell.endpoint else {}),
    }


def _part(prefix: str, task: TaskSummary, *, control: bool) -> dict[str, Json]:
    """The runs of a task with tools, or those without.

    The rate is the mean over scenarios, and has its interval; the reference's ``ok_rate`` is of all runs.
    """
    counts, found = task.counts(control=control), task_rate(task, control=control)
    return {
        f"{prefix}_runs": counts.runs,
        f"{prefix}_ok": counts.ok,
        f"{prefix}_valid": counts.valid,
        f"{prefix}_ok_rate": counts.rate,
        f"{prefix}_coverage": counts.coverage,
        **_times(f"{prefix}_", task.entries(control=control)),
        f"{prefix}_rate": found.rate if found else None,
        f"{prefix}_interval": interval_tree(found.interval if found else None),
    }


def _times(prefix: str, entries: Sequence[RunEntry]) -> dict[str, Json]:
    """As the reference takes them, of all attempts; and by nearest rank, of the last attempt."""
    every = [entry.ms for entry in entries]
    last = [entry.last_ms for entry in entries if entry.result != "void"]
    return {
        f"{prefix}ms_p50": reference_percentile(every, 50),
        f"{prefix}ms_p95": reference_percentile(every, 95),
        f"{prefix}last_attempt_ms_p50_nearest_rank": nearest_rank(last, 50),
        f"{prefix}last_attempt_ms_p95_nearest_rank": nearest_rank(last, 95),
    }


def _run(entry: RunEntry, name: str) -> Tree:
    return {
        **_axes(entry.cell, name),
        "empty_response_retry_attempts": entry.attempts,
        "content_tag_tool_call_fallback": entry.text_calls,
        "scenario": entry.cell.scenario,
        "trial": entry.trial,
        "ok": entry.ok,
        "result": entry.result,
        "elapsed_ms": entry.ms,
        "error": entry.error or None,
        "error_hint": entry.hint or None,
        "error_status": entry.status,
        "error_category": alias_of(entry.category, entry.status) or None,
        "category": entry.category or None,
        "key": entry.key,
        "report_path": entry.cassette or None,
    }


def _of_cell(cell: CellSummary) -> Tree:
    return {
        **cell.counts.tree(),
        **_after_silence(cell.ok_after_silence),
        "interval": interval_tree(wilson(pass_count(cell))),
        "categories": dict(cell.categories),
        "served": list(cell.served),
        **({"servers": list(cell.servers)} if len(cell.servers) > 1 else {}),
    }


def _by_scenario(cells: Sequence[CellSummary]) -> Tree:
    """For each scenario: runs, how many of them went wrong in which way, and the rate with its interval."""
    scenarios = dict.fromkeys(cell.cell.scenario for cell in cells)
    return {name: _of_scenario([cell for cell in cells if cell.cell.scenario == name]) for name in scenarios}


def _of_scenario(cells: Sequence[CellSummary]) -> Tree:
    counts = sum((cell.counts for cell in cells), start=ResultCounts())
    entries = [entry for cell in cells for entry in cell.entries]
    found = over_clusters(cells)
    return {
        **counts.tree(),
        "errors": _tallied(alias_of(entry.category, entry.status) for entry in entries if not entry.ok),
        "categories": _tallied(entry.category for entry in entries),
        **({"rate": found.rate} if found else {}),
        **_clustered(found),
    }


def _tallied(names: Iterable[str]) -> dict[str, Json]:
    found = Counter(name for name in names if name)
    return dict(sorted(found.items()))


def cells_of(plan: EvalPlan) -> tuple[Cell, ...]:
    """The cells of a plan, task by task, in its order."""
    return tuple(task.cell(each.name) for task in plan.tasks() for each in plan.scenarios)


def summary_of(results: Results, plan: EvalPlan) -> Summary:
    """The summary of an evaluation."""
    controls = [each.name for each in WITH_CASE_STUDY if each.control]
    planned = {cell: plan.trials_of(cell) for cell in plan.cells()}
    return summarise(results.records(), planned, controls, plan.options.accepted_voids)


def summary_trees(summary: Summary, findings: Findings, results: Results, plan: EvalPlan) -> dict[str, Tree]:
    """The files of a summary by name, each as a tree."""
    whole: Tree = {
        **_about(summary, results, plan),
        "taxonomy": TAXONOMY,
        "complete": summary.complete,
        "missing": summary.missing,
        **_accepted(summary),
        **summary.counts().tree(),
        "warnings": list(summary.warnings),
        "figures": figure_tree(findings),
        "models": [_row(task, plan) for task in summary.tasks],
    }
    strategies = dict.fromkeys(cell.cell.strategy for cell in summary.cells)
    return {
        SUMMARY: whole,
        BY_SCENARIO: _by_scenario(summary.cells),
        BY_STRATEGY: {
            name: _by_scenario([cell for cell in summary.cells if cell.cell.strategy == name])
            for name in strategies
        },
    }


def write_summaries(results: Results, plan: EvalPlan) -> Summary:
    """Write the three files of a summary into the directory of the results.

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
