"""Write the summary files of an evaluation, and the table of trials as CSV or Parquet.

A summary has the reference's fields, and our figures next to them: ``ok`` counts runs that passed, exercised
or not, as the reference harness does, and ``runs`` all of them; rates are of valid runs, which the reference
does not tell apart, and ``coverage`` says how many those are. The options are in the plan, in
``header.json``. A table has a row for each run, those that are missing too.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path
from typing import Literal, TypeAlias

from toolreel._internal import MissingExtra
from toolreel._secrets import url_safe_to_log
from toolreel.evals._results import Results, write_atomically, write_json
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import group_by_key, pass_hat, rate_of
from toolreel.evals._summary.totals import (
    AXES,
    Findings,
    Total,
    findings_of,
    headline_sentences,
    recommendation,
    tool_and_control_trials,
    warning_sentences,
)
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import (
    TAXONOMY,
    Cell,
    EvalPlan,
    Trial,
    TrialTally,
    harness_name_of_category,
    incompleteness_sentence,
    percentile_as_in_harness,
)

TrialFile: TypeAlias = Literal["csv", "parquet"]
_Row: TypeAlias = Mapping[str, Json]

_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")


def write_trials(folder: Path | str, path: Path | str, form: TrialFile) -> Path:
    """Write the trials of an evaluation; what is not known of one is empty, or null.

    :raises ResultsError: if there is no evaluation, or the file cannot be written
    :raises MissingExtra: if ``toolreel[parquet]`` is not installed
    """
    results, path = Results.open(folder), Path(path)
    rows = [trial_row(one) for one in results.trials(plan_of_header(results.header))]
    if form == "parquet":
        write_atomically(path, _parquet_bytes(rows))
        return path
    text = StringIO()
    writer = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: str(value).lower() if isinstance(value, bool) else value for name, value in row.items()}
        for row in rows
    )
    write_atomically(path, text.getvalue())
    return path


_OF_PLAN = (
    *("scenario", "model", "endpoint", "profile", "strategy", "trial", "outcome", "failure_class"),
    *("void_reason", "control", "lacking", "accepted"),
)
_COLUMNS = (
    *(*_OF_PLAN, "reason", "hint", "status", "turns", "calls", "requests", "attempts", *_TOKENS, "cost"),
    *("ms", "last_attempt_ms", "after_empty_reply", "text_calls", "scenario_version"),
    *("configuration_digest", "replies_digest", "key", "recording", "server", "served_by"),
)


def trial_row(one: Trial) -> dict[str, Json]:
    void = one.outcome == "void"
    values = {
        **{axis: getattr(one.cell, axis) for axis in ("scenario", *AXES)},
        **{each.name: getattr(one, each.name) for each in fields(Trial)},
        "failure_class": "" if void else one.category,
        "void_reason": one.category if void else "",
        "cost": None if one.unpriced else one.cost,
        "served_by": ", ".join(dict.fromkeys(one.served)),
    }
    known = _COLUMNS if one.key else _OF_PLAN
    return {name: values[name] if name in known and values[name] != "" else None for name in _COLUMNS}


def _parquet_bytes(rows: Sequence[_Row]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra.of("parquet", "pyarrow") from None
    kinds = {"bool": pa.bool_(), "int": pa.int64(), "int | None": pa.int64(), "float": pa.float64()}
    types = {each.name: str(each.type) for each in fields(Trial)}
    schema = pa.schema([(name, kinds.get(types.get(name, ""), pa.string())) for name in rows[0]])
    stream = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([*rows], schema=schema), stream)
    return bytes(stream.getvalue())


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
    made = [one for one in trials if one.key]
    incomplete = incompleteness_sentence(trials, plan.options.min_coverage)
    places: Tree = {name: url_safe_to_log(each.base_url) for name, each in plan.endpoints.items() if name}
    strategies = group_by_key(made, lambda one: one.cell.strategy)
    whole: Tree = {
        "ts": results.header.created,
        "base_url": url_safe_to_log(plan.endpoint.base_url),
        **({"endpoints": places} if places else {}),
        "selected_models": list(plan.models),
        "sampling_profiles": list(dict.fromkeys(profile for _, profile in plan.pairs)),
        "strategies": [strategy.name for strategy in plan.strategies],
        "scenarios": [scenario.name for scenario in plan.scenarios],
        "trials_per_model": plan.trials,
        "output_dir": results.path.resolve().name,
        "plan": plan.digest,
        **({"shard": str(plan.shard)} if plan.shard else {}),
        "versions": dict(results.header.versions),
        "taxonomy": TAXONOMY,
        "complete": not incomplete,
        "incomplete": incomplete or None,
        "missing": sum(one.outcome == "missing" for one in trials),
        "lacking": sum(one.lacking for one in trials),
        **({"accepted_void": sum(one.accepted for one in trials)} if plan.options.accept_void else {}),
        **TrialTally.of(made).counts(),
        "warnings": list(warning_sentences(trials)),
        "answer": list(headline_sentences(findings)),
        "figures": {
            "whole": _total_tree(findings.whole),
            **{
                what: {each.name: _total_tree(each) for each in totals}
                for what, totals in findings.totals.items()
            },
            **{
                f"{what}_compared": [
                    {"first": each.first, "second": each.second, **asdict(each.difference)}
                    for each in contrasts
                ]
                for what, contrasts in findings.contrasts.items()
            },
            "taxonomy": {
                name: _counts_by_name(one.category for one in rows) for name, rows in strategies.items()
            },
            "notes": list(findings.notes),
        },
        "models": [
            _task_figures(cell, rows, plan)
            for cell, rows in group_by_key(made, lambda one: one.cell.task).items()
        ],
    }
    return {
        "summary.json": whole,
        "summary_by_scenario.json": _figures_by_scenario(made),
        "summary_by_scenario_and_strategy.json": {
            name: _figures_by_scenario(rows) for name, rows in strategies.items()
        },
    }


def _total_tree(total: Total) -> Tree:
    rate, (_, cells, left_out) = total.rate, pass_hat(total.trials, total.k)
    return {
        **total.tally.counts(),
        **total.metrics,
        "about": rate.about if rate else None,
        "scenarios": rate.scenarios if rate else 0,
        "k": total.k,
        "pass_hat_cells": [cells, left_out],
        "ok_after_silence": total.tally.after_silence,
        "usage": total.tally.usage(),
    }


def _task_figures(cell: Cell, trials: Sequence[Trial], plan: EvalPlan) -> Tree:
    tools, controls = tool_and_control_trials(trials)
    parts, tally = {"": trials, "tool_": tools, "control_": controls}, TrialTally.of(trials)
    return {
        "model": plan.label(cell),
        "model_base": cell.model,
        "strategy": cell.strategy,
        "sampling_profile": cell.profile,
        **({"endpoint": cell.endpoint} if cell.endpoint else {}),
        **tally.counts(),
        **{
            f"{part}{name}": each
            for part, rows in parts.items()
            for name, each in _trial_group_figures(rows).items()
        },
        "recommended": recommendation(trials),
        "usage": tally.usage(),
        "run_results": [
            {
                **trial_row(one),
                "ok": one.ok,
                "elapsed_ms": one.ms,
                "error": one.error or None,
                "error_hint": one.hint or None,
                "error_status": one.status,
                "error_category": harness_name_of_category(one.category, one.status) or None,
                "report_path": one.recording or None,
            }
            for one in sorted(trials, key=lambda one: one.trial)
        ],
    }


def _trial_group_figures(trials: Sequence[Trial]) -> dict[str, Json]:
    tally, ms = TrialTally.of(trials), [one.ms for one in trials]
    return {
        "runs": tally.runs,
        "ok": tally.ok,
        "valid": tally.valid,
        "ok_rate": tally.ok / tally.valid if tally.valid else None,
        **{f"ms_p{percent}": percentile_as_in_harness(ms, percent) for percent in (50, 95)},
        **_rate_tree(trials),
    }


def _rate_tree(trials: Iterable[Trial]) -> dict[str, Json]:
    rate = rate_of(trials)
    if rate is None:
        return {"rate": None, "interval": None}
    return {"rate": rate.rate, "interval": {"low": rate.low, "high": rate.high, "method": rate.about}}


def _figures_by_scenario(trials: Iterable[Trial]) -> Tree:
    return {
        scenario: {
            **TrialTally.of(rows).counts(),
            "errors": _counts_by_name(
                harness_name_of_category(one.category, one.status) for one in rows if not one.ok
            ),
            "categories": _counts_by_name(one.category for one in rows),
            **_rate_tree(rows),
        }
        for scenario, rows in group_by_key(trials, lambda one: one.cell.scenario).items()
    }


def _counts_by_name(names: Iterable[str]) -> dict[str, Json]:
    return dict(sorted(Counter(filter(None, names)).items()))
