"""Export an evaluation to the log format of Inspect (EvalLog, version 2, as JSON).

Inspect's log is of one task and one model, so each model under a strategy is a log of its own: scenarios are
its samples, trials its epochs. A void run is a sample with an error and without a score, as the provider
failed, and not the model. What the format has no place for is in ``metadata``, under our names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
)

_SCORER: Final = "toolreel"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
"""Characters that are replaced in file names."""
_PASSED: Final = frozenset({"pass", "pass_unexercised"})
_SCORED: Final = frozenset({*_PASSED, "fail"})
_Sample: TypeAlias = dict[str, Json]


def write_inspect_logs(folder: Path | str, out: Path | str) -> tuple[Path, ...]:
    """Write the logs of an evaluation, and return their paths.

    :param out: a folder; or, for an evaluation of one model and strategy, a file whose name ends with
        ``.json``
    :raises ResultsError: if there is no evaluation, one file is not enough, or it cannot be written
    """
    results, out = Results.open(folder), Path(out)
    plan = plan_of_header(results.header)
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
        path = out if out.suffix == ".json" else out / f"{_file_name(plan, task)}.json"
        write_json(path, inspect_log(results, plan, task, records[task]))
        paths.append(path)
    return tuple(paths)


def _file_name(plan: EvalPlan, task: Cell) -> str:
    parts = (task.model, task.strategy, *_variant(plan, task))
    return "__".join(_UNFIT.sub("_", part) for part in parts)


def _variant(plan: EvalPlan, task: Cell) -> Iterator[str]:
    """The axes of which the plan has several."""
    if len(plan.profiles[task.model]) > 1:
        yield task.profile


def inspect_log(results: Results, plan: EvalPlan, task: Cell, records: Sequence[Record]) -> Tree:
    """One log: the runs of a model under a strategy."""
    samples = [_sample(record, plan, results.path) for record in records]
    usages = [usage for record in records if (usage := _usage([record]))]
    complete = len(samples) == len(plan.scenarios) * plan.trials
    created = results.header.created.replace("Z", "+00:00")
    total = _usage(records)
    return {
        "version": LOG_VERSION,
        "status": "success" if complete else "started",
        "eval": _spec(results, plan, task, created),
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": _results(records),
        "stats": {
            "started_at": created,
            "completed_at": "",
            "model_usage": {task.model: total} if usages else {},
        },
        "samples": samples,
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


def _results(records: Sequence[Record]) -> Tree:
    scored = [record for record in records if record.verdict.result in _SCORED]
    passed = sum(record.verdict.result in _PASSED for record in scored)
    accuracy: dict[str, Json] = (
        {"accuracy": {"name": "accuracy", "value": passed / len(scored)}} if scored else {}
    )
    return {
        "total_samples": len(records),
        "completed_samples": sum(record.verdict.result != "void" for record in records),
        "scores": [
            {
                "name": _SCORER,
                "scorer": _SCORER,
                "scored_samples": len(scored),
                "unscored_samples": len(records) - len(scored),
                "metrics": accuracy,
            }
        ],
    }


def _sample(record: Record, plan: EvalPlan, folder: Path) -> _Sample:
    verdict, asked = record.verdict, record.attempts[-1].asked
    replayed = _replayed(record, plan, folder)
    messages = [inspect_message(each) for each in replayed.messages] if isinstance(replayed, Run) else []
    opening = len(replayed.state.plan.messages) if isinstance(replayed, Run) else 0
    usage, ms = _usage([record]), record.attempts[-1].ms
    finish = STOP_REASONS.get(asked[-1].finish, "unknown") if asked else "unknown"
    served = next((each.model for each in reversed(asked) if each.model), "") or record.cell.model
    answer: Tree = {"role": "assistant", "content": record.final, "source": "generate"}
    sample: _Sample = {
        "id": record.cell.scenario,
        "epoch": record.trial,
        "input": messages[:opening] or record.cell.scenario,
        "target": "",
        "messages": messages,
        "output": {
            "model": served,
            "choices": [{"message": answer, "stop_reason": finish}] if record.final else [],
            "completion": record.final,
            "time": ms / 1000,
            **({"usage": usage} if usage else {}),
        },
        "metadata": _metadata(record, "" if isinstance(replayed, Run) else replayed),
        "model_usage": {record.cell.model: usage} if usage else {},
        "total_time": record.ms / 1000,
        "working_time": ms / 1000,
        "uuid": record.key[:22],
    }
    if verdict.result in _SCORED:
        sample["scores"] = {_SCORER: _score(record)}
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


def _score(record: Record) -> Tree:
    verdict = record.verdict
    return {
        "value": "C" if verdict.result in _PASSED else "I",
        "answer": record.final,
        "explanation": "; ".join(verdict.reasons),
        "metadata": {"result": verdict.result, "category": verdict.category},
    }


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


def _usage(records: Iterable[Record]) -> dict[str, Json]:
    """The usage of all attempts; empty if nothing was asked. A cost is there only if all are known."""
    asked = [each for record in records for attempt in record.attempts for each in attempt.asked]
    if not asked:
        return {}
    prompt = sum(each.prompt_tokens for each in asked)
    completion = sum(each.completion_tokens for each in asked)
    costs = [each.cost for each in asked if not each.failure]
    known = [cost for cost in costs if cost is not None]
    return {
        "input_tokens": prompt,
        "output_tokens": completion,
        "total_tokens": prompt + completion,
        "reasoning_tokens": sum(each.reasoning_tokens for each in asked),
        **({"total_cost": sum(known)} if known and len(known) == len(costs) else {}),
    }
