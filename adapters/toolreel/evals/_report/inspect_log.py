"""Export an evaluation to the log format of Inspect (EvalLog, version 2, as JSON).

Inspect's log is of one task and one model, so each model under a strategy is a log of its own: scenarios are
its samples, trials its epochs. A void run is a sample with an error and without a score, as the provider
failed, and not the model. What the format has no place for is in ``metadata``, under our names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolreel._replay import LOG_VERSION, inspect_ai_sample
from toolreel._secrets import url_safe_to_log
from toolreel.evals._replay import RecordedRun
from toolreel.evals._results import Results, write_json
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import group_by_key
from toolreel.evals._summary.summary_files import trial_row
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, chained_digest, parse
from toolreel_core.evals import Cell, EvalPlan, Record, Trial, TrialTally

_SCORER = "toolreel"


def write_inspect_logs(folder: Path | str, out: Path | str) -> tuple[Path, ...]:
    """Write the logs of an evaluation into a folder, and return their paths.

    :raises ResultsError: if there is no evaluation, or it cannot be written
    """
    results, out = Results.open(folder), Path(out)
    plan, paths = plan_of_header(results.header), list[Path]()
    records = {record.key: record for record in results.records()}
    made = (one for one in results.trials(plan) if one.key)
    for task, rows in group_by_key(made, lambda one: one.cell.task).items():
        profile = task.profile if len(plan.profiles[task.model]) > 1 else ""
        parts = filter(None, (task.model, task.strategy, profile, task.endpoint))
        paths.append(out / f"{'__'.join(re.sub(r'[^A-Za-z0-9_.-]+', '_', part) for part in parts)}.json")
        write_json(
            paths[-1], inspect_ai_eval_log(results, plan, task, [(records[one.key], one) for one in rows])
        )
    return tuple(paths)


def inspect_ai_eval_log(
    results: Results, plan: EvalPlan, task: Cell, runs: Sequence[tuple[Record, Trial]]
) -> Tree:
    header, tally = results.header, TrialTally.of(one for _, one in runs)
    created = header.created.replace("Z", "+00:00") or "1970-01-01T00:00:00+00:00"
    # Ids of Inspect are short UUIDs, which have 22 characters.
    identity = chained_digest("inspect", plan.digest, *task.axes)[:22]
    metrics: Tree = {}
    if tally.valid:
        metrics = {"accuracy": {"name": "accuracy", "value": tally.ok / tally.valid}}
    return {
        "version": LOG_VERSION,
        "status": "success" if len(runs) == len(plan.scenarios) * plan.trials else "started",
        "eval": {
            "eval_id": identity,
            "run_id": plan.digest[:22],
            "task_id": identity,
            "task_version": 1,
            "created": created,
            "task": f"toolreel/{task.strategy}",
            "solver": task.strategy,
            "dataset": {
                "name": "toolreel scenarios",
                "samples": len(plan.scenarios),
                "sample_ids": [each.name for each in plan.scenarios],
            },
            "model": task.model,
            "model_base_url": url_safe_to_log(plan.endpoint.base_url),
            "config": {"epochs": plan.trials},
            "packages": dict(header.versions),
            "metadata": {"plan": plan.digest, "catalogue": header.catalogue, "taxonomy": header.taxonomy},
        },
        "results": {
            "total_samples": tally.runs,
            "completed_samples": tally.runs - tally.outcomes["void"],
            "scores": [
                {
                    "name": _SCORER,
                    "scorer": _SCORER,
                    "scored_samples": tally.valid,
                    "unscored_samples": tally.runs - tally.valid,
                    "metrics": metrics,
                }
            ],
        },
        "stats": {"started_at": created, "completed_at": "", "model_usage": _model_usage(task.model, tally)},
        "samples": [_inspect_sample(record, one, plan, results.path) for record, one in runs],
    }


def _inspect_sample(record: Record, one: Trial, plan: EvalPlan, folder: Path) -> Tree:
    verdict, problem = record.verdict, dict[str, Json]()
    sample: dict[str, Any] = {"input": record.cell.scenario, "target": "", "messages": [], "output": {}}
    usage = _model_usage(record.cell.model, TrialTally.of((one,)))
    try:
        run = RecordedRun.of_record(record, plan, folder).replay()[1].run
        sample = {**inspect_ai_sample(run, record.cell.scenario, usage, record.key)}
        # The error of the run itself; in this log, only void runs have one, which is set below.
        sample.pop("error", None)
    except ToolreelError as error:
        problem = {"messages_missing": str(error)}
    served = (each.model for each in reversed(record.attempts[-1].asked) if each.model)
    sample |= {
        "id": record.cell.scenario,
        "epoch": record.trial,
        "output": {
            **sample["output"],
            "model": next(served, record.cell.model),
            "completion": record.final,
            "time": one.last_attempt_ms / 1000,
        },
        "metadata": {
            **trial_row(one),
            "reasons": list(verdict.reasons),
            "configuration": parse(record.configuration),
            "loop": record.loop,
            "world": parse(record.world),
            **problem,
        },
        "model_usage": usage,
        "total_time": one.ms / 1000,
        "uuid": record.key[:22],
    }
    if one.valid:
        explanation = "; ".join(verdict.reasons)
        score = {"value": "C" if one.ok else "I", "answer": record.final, "explanation": explanation}
        sample["scores"] = {_SCORER: score}
    if verdict.result == "void":
        why = ": ".join((verdict.category, *verdict.reasons))
        sample["error"] = {"message": why, "traceback": "", "traceback_ansi": ""}
    return sample


def _model_usage(model: str, tally: TrialTally) -> Tree:
    """The usage of all attempts; none if nothing was asked. A cost is there only if all are known."""
    usage: Tree = {
        "input_tokens": tally.total("prompt_tokens"),
        "output_tokens": tally.total("completion_tokens"),
        "total_tokens": tally.tokens,
        "reasoning_tokens": tally.total("reasoning_tokens"),
        **({} if tally.cost is None else {"total_cost": tally.cost}),
    }
    return {model: usage} if tally.total("requests") else {}
