"""Export an evaluation to the log format of Inspect (EvalLog, version 2, as JSON).

Inspect's log is of one task and one model, so each model under a strategy is a log of its own: scenarios are
its samples, trials its epochs. A void run is a sample with an error and without a score, as the provider
failed, and not the model. What the format has no place for is in ``metadata``, under our names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolreel._replay import LOG_VERSION, STOP_REASONS, inspect_message
from toolreel._secrets import shown_url
from toolreel.evals._replay import RecordedRun
from toolreel.evals._results import Results, write_json
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._summary.summary_files import trial_row
from toolreel.evals._summary.totals import group_trials
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, chain, parse
from toolreel_core.evals import (
    Cell,
    EvalPlan,
    Record,
    Tally,
    Trial,
)

_SCORER: Final = "toolreel"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def write_inspect_logs(folder: Path | str, out: Path | str) -> tuple[Path, ...]:
    """Write the logs of an evaluation into a folder, and return their paths.

    :raises ResultsError: if there is no evaluation, or it cannot be written
    """
    results, out = Results.open(folder), Path(out)
    plan, paths = plan_of_header(results.header), list[Path]()
    records = {record.key: record for record in results.records()}
    made = (one for one in results.trials(plan) if one.key)
    for task, rows in group_trials(made, lambda one: one.cell.task).items():
        profile = task.profile if len(plan.profiles[task.model]) > 1 else ""
        parts = filter(None, (task.model, task.strategy, profile, task.endpoint))
        paths.append(out / f"{'__'.join(_UNFIT.sub('_', part) for part in parts)}.json")
        write_json(paths[-1], inspect_log(results, plan, task, [(records[one.key], one) for one in rows]))
    return tuple(paths)


def inspect_log(results: Results, plan: EvalPlan, task: Cell, runs: Sequence[tuple[Record, Trial]]) -> Tree:
    """One log: the runs of a model under a strategy."""
    header, tally = results.header, Tally.of(one for _, one in runs)
    created = header.created.replace("Z", "+00:00") or "1970-01-01T00:00:00+00:00"
    identity = chain("inspect", plan.digest, *task.axes)[:22]
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
            "model_base_url": shown_url(plan.endpoint.base_url),
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
        "stats": {"started_at": created, "completed_at": "", **_inspect_usage(task.model, tally)},
        "samples": [_inspect_sample(record, one, plan, results.path) for record, one in runs],
    }


def _inspect_sample(record: Record, one: Trial, plan: EvalPlan, folder: Path) -> Tree:
    """A run; what the format has no place for is the trial's row, as ``eval export`` writes it."""
    verdict, asked, model = record.verdict, record.attempts[-1].asked, record.cell.model
    messages, opening, problem = list[Json](), 0, ""
    try:
        run = RecordedRun.of_record(record, plan, folder).replay()[1].run
        messages, opening = [*map(inspect_message, run.messages)], len(run.state.plan.messages)
    except ToolreelError as error:
        problem = str(error)
    finish = STOP_REASONS.get(asked[-1].finish, "unknown") if asked else "unknown"
    answer: Tree = {"role": "assistant", "content": record.final, "source": "generate"}
    score: Tree = {
        "value": "C" if one.ok else "I",
        "answer": record.final,
        "explanation": "; ".join(verdict.reasons),
    }
    why = ": ".join((verdict.category, *verdict.reasons))
    failure: Tree = {"message": why, "traceback": "", "traceback_ansi": ""}
    return {
        "id": record.cell.scenario,
        "epoch": record.trial,
        "input": messages[:opening] or record.cell.scenario,
        "target": "",
        "messages": messages,
        "output": {
            "model": next((each.model for each in reversed(asked) if each.model), model),
            "choices": [{"message": answer, "stop_reason": finish}] if record.final else [],
            "completion": record.final,
            "time": one.last_attempt_ms / 1000,
        },
        "metadata": {
            **trial_row(one),
            "reasons": list(verdict.reasons),
            "configuration": parse(record.configuration),
            "loop": record.loop,
            "world": parse(record.world),
            **({"messages_missing": problem} if problem else {}),
        },
        **_inspect_usage(model, Tally.of((one,))),
        "total_time": one.ms / 1000,
        "uuid": record.key[:22],
        **({"scores": {_SCORER: score}} if one.valid else {}),
        **({"error": failure} if verdict.result == "void" else {}),
    }


def _inspect_usage(model: str, tally: Tally) -> dict[str, Json]:
    """The usage of all attempts; none if nothing was asked. A cost is there only if all are known."""
    usage: Tree = {
        "input_tokens": tally.total("prompt_tokens"),
        "output_tokens": tally.total("completion_tokens"),
        "total_tokens": tally.total("prompt_tokens") + tally.total("completion_tokens"),
        "reasoning_tokens": tally.total("reasoning_tokens"),
        **({} if tally.cost is None else {"total_cost": tally.cost}),
    }
    return {"model_usage": {model: usage} if tally.total("requests") else {}}
