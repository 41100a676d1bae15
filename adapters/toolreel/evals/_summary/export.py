"""Write the summary files of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolreel.evals._runner.adaptive import required_runs
from toolreel.evals._store.files import write_atomically
from toolreel.evals._store.results import Results
from toolreel.evals._summary.figures import findings_of
from toolreel.evals._summary.figures_json import with_figures
from toolreel_core._jsontext.canonical import Json, Tree, parse
from toolreel_core.evals._plan.configuration import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import SCENARIOS
from toolreel_core.evals._summary.reference_format import summary_files
from toolreel_core.evals._summary.summary import Summary, summarise


def cells_of(plan: EvalPlan) -> tuple[Cell, ...]:
    """The cells of a plan, task by task, in its order."""
    return tuple(task.cell(each.name) for task in plan.tasks() for each in plan.scenarios)


def summary_of(results: Results, plan: EvalPlan) -> Summary:
    """What the runs of an evaluation come to.

    Runs that its rule for stopping early has spared are not missing.
    """
    order, controls = cells_of(plan), [each.name for each in SCENARIOS if each.control]
    asked = required_runs(plan, results.records())
    return summarise(results.records(), order, controls, asked)


def summary_trees(summary: Summary, results: Results, plan: EvalPlan) -> dict[str, Tree]:
    """The files of a summary by name, each as a tree."""
    files = summary_files(summary, _about(summary, results, plan))
    return with_figures(files, summary, findings_of(summary, plan))


def write_summaries(results: Results, plan: EvalPlan) -> Summary:
    """Write the four files of a summary into the directory of the results.

    :raises ResultsError: if the results cannot be read, or the files cannot be written
    """
    summary = summary_of(results, plan)
    for name, tree in summary_trees(summary, results, plan).items():
        write_atomically(results.path / name, json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
    return summary


def _about(summary: Summary, results: Results, plan: EvalPlan) -> dict[str, Json]:
    """What was asked for, by the reference's names and in its order."""
    options, endpoint = plan.options, plan.endpoint
    profiles = dict.fromkeys(profile for _, profile in plan.pairs)
    return {
        "ts": results.header.created,
        "base_url": endpoint.base_url,
        "api_prefix": endpoint.api_prefix,
        "http_adapter": "httpx",
        "language_policy_filter": list(options.languages),
        "language_policy_matrix": len(plan.languages) > 1,
        "language_policy_strict": options.language_strict,
        "language_policies": list(plan.languages),
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
        "versions": _texts(results.header.versions),
    }


def _reading_text(summary: Summary) -> list[Json]:
    """The models that had calls read from text under the profile ``best_effort``."""
    cells = (cell for cell in summary.cells if cell.cell.fallback == "best_effort")
    return [*dict.fromkeys(cell.cell.model for cell in cells if any(run.text_calls for run in cell.entries))]


def _texts(values: Mapping[str, str]) -> dict[str, Json]:
    return dict(values)
