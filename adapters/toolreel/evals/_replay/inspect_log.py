"""Export an evaluation to the log format of Inspect (EvalLog, version 2, as JSON).

Inspect's log is of one task and one model, so each model under a strategy is a log of its own: scenarios are
its samples, trials its epochs. A void run is a sample with an error and without a score, as the provider
failed, and not the model. What the format has no place for is in ``metadata``, under our names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from toolreel._driver import Run
from toolreel._internal import ResultsError
from toolreel._replay import LOG_VERSION, STOP_REASONS, inspect_message
from toolreel._secrets import shown_url
from toolreel.evals._replay.replay import rerun
from toolreel.evals._results import Results, write_json
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, chain, parse
from toolreel_core._settings import LoopConfig
from toolreel_core.evals import (
    Cell,
    EvalPlan,
    Record,
    Tally,
    Trial,
)

_SCORER: Final = "toolreel"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
"""Characters that are replaced in file names."""


def write_inspect_logs(folder: Path | str, out: Path | str) -> tuple[Path, ...]:
    """Write the logs of an evaluation, and return their paths.

    :param out: a folder; or, for an evaluation of one model and strategy, a file whose name ends with
        ``.json``
    :raises ResultsError: if there is no evaluation, one file is not enough, or it cannot be written
    """
    results, out = Results.open(folder), Path(out)
    plan = plan_of_header(results.header)
    trials = {one.key: one for one in results.trials(plan)}
    records: dict[Cell, list[Record]] = {}
    for record in results.records():
        records.setdefault(record.cell.task, []).append(record)
    tasks = [task for task in plan.tasks() if task in records]
    if out.suffix == ".json" and len(tasks) != 1:
        raise ResultsError(
            f"{folder}: has {len(tasks)} models under strategies, and a log of Inspect has one; "
            "name a folder (--out logs)"
        )
    paths = []
    for task in tasks:
        several = len(plan.profiles[task.model]) > 1
        parts = (task.model, task.strategy, *((task.profile,) if several else ()))
        name = "__".join(_UNFIT.sub("_", part) for part in parts)
        path = out if out.suffix == ".json" else out / f"{name}.json"
        runs = [(record, trials[record.key]) for record in records[task]]
        write_json(path, inspect_log(results, plan, task, runs))
        paths.append(path)
    return tuple(paths)


_Runs: TypeAlias = Sequence[tuple[Record, Trial]]


def inspect_log(results: Results, plan: EvalPlan, task: Cell, runs: _Runs) -> Tree:
    """One log: the runs of a model under a strategy."""
    tally = Tally.of(one for _, one in runs)
    created = results.header.created.replace("Z", "+00:00")
    usage = _usage(tally)
    accuracy: Tree = (
        {"accuracy": {"name": "accuracy", "value": tally.ok / tally.valid}} if tally.valid else {}
    )
    return {
        "version": LOG_VERSION,
        "status": "success" if len(runs) == len(plan.scenarios) * plan.trials else "started",
        "eval": _spec(results, plan, task, created),
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": tally.runs,
            "completed_samples": tally.runs - tally.outcomes["void"],
            "scores": [
                {
                    "name": _SCORER,
                    "scorer": _SCORER,
                    "scored_samples": tally.valid,
                    "unscored_samples": tally.runs - tally.valid,
                    "metrics": accuracy,
                }
            ],
        },
        "stats": {
            "started_at": created,
            "completed_at": "",
            "model_usage": {task.model: usage} if usage else {},
        },
        "samples": [_sample(record, one, plan, results.path) for record, one in runs],
    }


def _spec(results: Results, plan: EvalPlan, task: Cell, created: str) -> Tree:
    identity = chain("inspect", plan.digest, *task.axes)
    return {
        "eval_id": identity[:22],
        "run_id": plan.digest[:22],
        "created": _time(created),
        "task": f"toolreel/{task.strategy}",
        "task_id": identity[:22],
        "task_version": 1,
        "solver": task.strategy,
        "dataset": {
            "name": "toolreel scenarios",
            "samples": len(plan.scenarios),
            "sample_ids": [each.name for each in plan.scenarios],
            "shuffled": False,
        },
        "model": task.model,
        "model_base_url": shown_url(plan.endpoint.base_url),
        "config": {"epochs": plan.trials},
        "packages": dict(results.header.versions),
        "metadata": {
            "profile": task.profile,
            "plan": plan.digest,
            "catalogue": results.header.catalogue,
            "taxonomy": results.header.taxonomy,
            "scenario_versions": {each.name: each.version for each in plan.scenarios},
        },
    }


def _time(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return "1970-01-01T00:00:00+00:00"


def _sample(record: Record, one: Trial, plan: EvalPlan, folder: Path) -> Tree:
    verdict, asked = record.verdict, record.attempts[-1].asked
    replayed = _replayed(record, plan, folder)
    messages = [inspect_message(each) for each in replayed.messages] if isinstance(replayed, Run) else []
    opening = len(replayed.state.plan.messages) if isinstance(replayed, Run) else 0
    usage = _usage(Tally.of((one,)))
    finish = STOP_REASONS.get(asked[-1].finish, "unknown") if asked else "unknown"
    served = next((each.model for each in reversed(asked) if each.model), "") or record.cell.model
    answer: Tree = {"role": "assistant", "content": record.final, "source": "generate"}
    sample: dict[str, Json] = {
        "id": record.cell.scenario,
        "epoch": record.trial,
        "input": messages[:opening] or record.cell.scenario,
        "target": "",
        "messages": messages,
        "output": {
            "model": served,
            "choices": [{"message": answer, "stop_reason": finish}] if record.final else [],
            "completion": record.final,
            "time": one.last_ms / 1000,
            **({"usage": usage} if usage else {}),
        },
        "metadata": _metadata(record, "" if isinstance(replayed, Run) else replayed),
        "model_usage": {record.cell.model: usage} if usage else {},
        "total_time": one.ms / 1000,
        "working_time": one.last_ms / 1000,
        "uuid": record.key[:22],
    }
    if one.valid:
        score: Tree = {
            "value": "C" if one.ok else "I",
            "answer": record.final,
            "explanation": "; ".join(verdict.reasons),
            "metadata": {"result": verdict.result, "category": verdict.category},
        }
        sample["scores"] = {_SCORER: score}
    if verdict.result == "void":
        message = ": ".join((verdict.category, *verdict.reasons))
        sample["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    if verdict.category in {"loop.max_turns", "loop.budget"}:
        sample["limit"] = _limit(record)
    return sample


def _replayed(record: Record, plan: EvalPlan, folder: Path) -> Run | str:
    """The run, or why it cannot be replayed."""
    try:
        return rerun(record, plan, folder).run
    except ToolreelError as error:
        return str(error)


def _limit(record: Record) -> Tree:
    if record.verdict.category == "loop.budget":
        return {"type": "custom", "limit": 0, "reason": "; ".join(record.verdict.reasons)}
    configuration = parse(record.configuration)
    config = configuration.get("config") if isinstance(configuration, Mapping) else None
    turns = config.get("max_turns") if isinstance(config, Mapping) else None
    most = turns if isinstance(turns, int) else LoopConfig().max_turns
    return {"type": "turn", "limit": most, "reason": record.verdict.category}


def _metadata(record: Record, problem: str) -> Tree:
    return {
        "key": record.key,
        "result": record.verdict.result,
        "category": record.verdict.category,
        "reasons": list(record.verdict.reasons),
        "scenario_version": record.version,
        "configuration": parse(record.configuration),
        "loop": record.loop,
        "turns": record.turns,
        "calls": record.calls,
        "attempts": len(record.attempts),
        "world": record.world,
        "recording": record.cassette,
        **({"messages_missing": problem} if problem else {}),
    }


def _usage(tally: Tally) -> dict[str, Json]:
    """The usage of all attempts; empty if nothing was asked. A cost is there only if all are known."""
    if not tally.requests:
        return {}
    return {
        "input_tokens": tally.prompt_tokens,
        "output_tokens": tally.completion_tokens,
        "total_tokens": tally.prompt_tokens + tally.completion_tokens,
        "reasoning_tokens": tally.reasoning_tokens,
        **({} if tally.cost is None else {"total_cost": tally.cost}),
    }
