"""Write the summary files of an evaluation: the reference's fields, and our figures next to them.

``ok`` counts runs that passed, exercised or not, as the reference harness does, and ``runs`` all of them;
rates are of valid runs, which the reference does not tell apart, and ``coverage`` says how many those are.
What the reference has no word for is next to its fields under a name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from toolreel._secrets import shown_url
from toolreel.evals._results import Results, write_json
from toolreel.evals._statistics import Rate, pass_hat, rate_of
from toolreel.evals._summary.totals import (
    Findings,
    Total,
    answer,
    findings_of,
    grouped,
    recommendation,
    warnings,
)
from toolreel_core._jsontext import Json, Tree, parse
from toolreel_core.evals import (
    TAXONOMY,
    Cell,
    EvalPlan,
    Tally,
    Trial,
    alias_of,
    incompleteness,
    reference_percentile,
)

SUMMARY: Final = "summary.json"
BY_SCENARIO: Final = "summary_by_scenario.json"
BY_STRATEGY: Final = "summary_by_scenario_and_strategy.json"
_FAILURES: Final = 3
"""Failed runs of a task that are listed again by themselves."""


def write_summaries(results: Results, plan: EvalPlan) -> tuple[Trial, ...]:
    """Write the three files of a summary into the directory of the results.

    :return: the table of trials
    :raises ResultsError: if the results cannot be read, or the files cannot be written
    """
    trials = results.trials(plan)
    for name, tree in summary_trees(trials, findings_of(trials, plan), results, plan).items():
        write_json(results.path / name, tree)
    return trials


def summary_trees(
    trials: Sequence[Trial], findings: Findings, results: Results, plan: EvalPlan
) -> dict[str, Tree]:
    """The files of a summary by name, each as a tree."""
    made = [one for one in trials if one.key]
    incomplete = incompleteness(trials, plan.options.min_coverage)
    accepted = sum(one.accepted for one in trials)
    whole: Tree = {
        **_about(made, results, plan),
        "taxonomy": TAXONOMY,
        "complete": not incomplete,
        "incomplete": incomplete or None,
        "missing": sum(one.outcome == "missing" for one in trials),
        "lacking": sum(one.lacking for one in trials),
        **({"accepted_void": accepted} if plan.options.accept_void else {}),
        **Tally.of(made).counts(),
        "warnings": list(warnings(trials)),
        "answer": list(answer(findings)),
        "figures": {
            "whole": _total(findings.whole),
            "strategies": {each.name: _total(each) for each in findings.strategies},
            "models": {each.name: _total(each) for each in findings.models},
            **{
                f"{what}_compared": [
                    {
                        "first": each.first,
                        "second": each.second,
                        **{name: getattr(each.difference, name) for name in ("difference", "low", "high")},
                        "p_holm": each.difference.p_value,
                    }
                    for each in contrasts
                ]
                for what, contrasts in findings.contrasts.items()
            },
            "taxonomy": {
                name: _tallied(one.category for one in rows)
                for name, rows in grouped(made, lambda one: one.cell.strategy).items()
            },
            "notes": list(findings.notes),
        },
        "models": [_row(cell, rows, plan) for cell, rows in grouped(made, lambda one: one.cell.task).items()],
    }
    return {
        SUMMARY: whole,
        BY_SCENARIO: _by_scenario(made),
        BY_STRATEGY: {
            name: _by_scenario(rows) for name, rows in grouped(made, lambda one: one.cell.strategy).items()
        },
    }


def rate_tree(rate: Rate | None) -> Json:
    """The interval of a rate, with its formula and what it is about."""
    return {"low": rate.low, "high": rate.high, "method": rate.about} if rate else None


def _total(total: Total) -> Tree:
    rate, metrics = total.rate, total.metrics
    hat = dict(zip(("rate", "cells", "left_out"), pass_hat(total.trials, total.k), strict=True))
    return {
        **total.tally.counts(),
        "rate": metrics["rate"],
        "interval": rate_tree(rate),
        "scenarios": rate.scenarios if rate else 0,
        "models": rate.models if rate else 0,
        "exercised_rate": metrics["exercised_rate"],
        "ok_after_silence": total.tally.after_silence,
        "pass_at_1": metrics["pass_at_1"],
        "pass_hat_k": {"k": total.k, **hat},
        "last_attempt_ms_p50_nearest_rank": metrics["p50_ms"],
        "last_attempt_ms_p95_nearest_rank": metrics["p95_ms"],
        "usage": total.tally.usage(),
    }


def _row(cell: Cell, trials: Sequence[Trial], plan: EvalPlan) -> Tree:
    """A task, and each of its runs, in the order in which a plan has them."""
    name, tally = plan.label(cell), Tally.of(trials)
    runs = [_run(one, name) for one in sorted(trials, key=lambda one: one.trial)]
    by_scenario = grouped(trials, lambda one: one.cell.scenario)
    return {
        **_axes(cell, name),
        "content_tag_tool_call_fallback": trials[0].text_calls,
        "ok_rate": tally.counts()["rate"],
        **tally.counts(),
        **_times("", trials),
        **_part("tool", [one for one in trials if not one.control]),
        **_part("control", [one for one in trials if one.control]),
        "recommended": recommendation(trials),
        "usage": tally.usage(),
        "scenarios": [*by_scenario],
        "run_results": runs,
        "failure_samples": [run for run in runs if not run["ok"]][:_FAILURES],
        "cells": {
            scenario: {
                **Tally.of(rows).counts(),
                "ok_after_silence": Tally.of(rows).after_silence,
                "interval": rate_tree(rate_of(rows)),
                "categories": _tallied(one.category for one in rows),
                "served": sorted({who for one in rows for who in one.served}),
            }
            for scenario, rows in by_scenario.items()
        },
    }


def _axes(cell: Cell, name: str) -> dict[str, Json]:
    """The fields that say which axes a row is about.

    :param name: the label of its task
    """
    return {
        "model": name,
        "model_base": cell.model,
        "strategy": cell.strategy,
        "sampling_profile": cell.profile,
        **({"endpoint": cell.endpoint} if cell.endpoint else {}),
    }


def _part(prefix: str, trials: Sequence[Trial]) -> dict[str, Json]:
    """The runs of a task with tools, or those without.

    The rate is the mean over scenarios, and has its interval; the reference's ``ok_rate`` is of all runs.
    """
    counts, found = Tally.of(trials).counts(), rate_of(trials)
    return {
        **{f"{prefix}_{name}": counts[name] for name in ("runs", "ok", "valid")},
        f"{prefix}_ok_rate": counts["rate"],
        f"{prefix}_coverage": counts["coverage"],
        **_times(f"{prefix}_", trials),
        f"{prefix}_rate": found.rate if found else None,
        f"{prefix}_interval": rate_tree(found),
    }


def _times(prefix: str, trials: Sequence[Trial]) -> dict[str, Json]:
    """As the reference takes them, of all attempts; and by nearest rank, of the last attempt."""
    every, total = [one.ms for one in trials], Total("", tuple(trials), 1)
    return {
        **{f"{prefix}ms_p{at}": reference_percentile(every, at) for at in (50, 95)},
        **{f"{prefix}last_attempt_ms_p{at}_nearest_rank": total.ms(at) for at in (50, 95)},
    }


def _run(one: Trial, name: str) -> dict[str, Json]:
    return {
        **_axes(one.cell, name),
        "empty_response_retry_attempts": one.attempts,
        "content_tag_tool_call_fallback": one.text_calls,
        "scenario": one.cell.scenario,
        "trial": one.trial,
        "ok": one.ok,
        "result": one.outcome,
        "elapsed_ms": one.ms,
        "error": one.error or None,
        "error_hint": one.hint or None,
        "error_status": one.status,
        "error_category": alias_of(one.category, one.status) or None,
        "category": one.category or None,
        "key": one.key,
        "report_path": one.cassette or None,
    }


def _by_scenario(trials: Iterable[Trial]) -> Tree:
    """For each scenario: runs, how many of them went wrong in which way, and the rate with its interval."""
    found: dict[str, Json] = {}
    for scenario, rows in grouped(trials, lambda one: one.cell.scenario).items():
        rate = rate_of(rows)
        found[scenario] = {
            **Tally.of(rows).counts(),
            "errors": _tallied(alias_of(one.category, one.status) for one in rows if not one.ok),
            "categories": _tallied(one.category for one in rows),
            **({"rate": rate.rate, "models": rate.models} if rate else {}),
            "interval": rate_tree(rate),
        }
    return found


def _tallied(names: Iterable[str]) -> dict[str, Json]:
    return dict(sorted(Counter(filter(None, names)).items()))


def _about(made: Iterable[Trial], results: Results, plan: EvalPlan) -> dict[str, Json]:
    """The options of the evaluation, by the reference's names and in its order."""
    options, endpoint, header = plan.options, plan.endpoint, results.header
    places: Tree = {name: shown_url(each.base_url) for name, each in plan.endpoints.items() if name}
    return {
        "ts": header.created,
        "base_url": shown_url(endpoint.base_url),
        **({"endpoints": places} if places else {}),
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
        "sampling_profiles": list(dict.fromkeys(profile for _, profile in plan.pairs)),
        "sampling_profile_enforce_applicability": options.enforce_applicability,
        "llm_options_defaults_overrides": parse(options.sampling),
        "model_filter": None if options.models is None else list(options.models),
        "selected_models": list(plan.models),
        "strategy_filter": list(options.strategies),
        "strategy_matrix": len(plan.strategies) > 1,
        "strategies": [strategy.name for strategy in plan.strategies],
        "content_tag_tool_call_fallback_global_override": options.content_tag_fallback,
        "best_effort_content_tag_tool_call_fallback_models": list(
            dict.fromkeys(one.cell.model for one in made if one.text_calls)
        ),
        "jobs": options.jobs,
        "trials_per_model": plan.trials,
        "scenarios": [scenario.name for scenario in plan.scenarios],
        "output_dir": results.path.resolve().name,
        "plan": plan.digest,
        **({"shard": str(plan.shard)} if plan.shard else {}),
        "versions": dict(header.versions),
    }
