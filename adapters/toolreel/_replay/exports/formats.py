"""The text of a recorded run in each format of other tools."""

from __future__ import annotations

import json
from typing import Final, Literal, TypeAlias, assert_never

from toolreel._driver import Run
from toolreel._replay.explain.outcome import describe_outcome
from toolreel._replay.exports.inspect_messages import LOG_VERSION, STOP_REASONS, inspect_message
from toolreel._replay.exports.markdown import transcript
from toolreel._replay.trace import Trace
from toolreel_core._conversation import messages_to
from toolreel_core._jsontext import Json, Tree, parse
from toolreel_core._protocol import notes

Format: TypeAlias = Literal["openai", "markdown", "inspect"]
SUFFIXES: Final[dict[Format, str]] = {
    "openai": ".messages.json",
    "markdown": ".md",
    "inspect": ".inspect.json",
}

_NO_DATE: Final = "1970-01-01T00:00:00+00:00"
"""A journal has no date, and a log of Inspect has to have one."""


def exported(trace: Trace, form: Format, name: str) -> str:
    """A recorded run as the text of a file.

    :param name: what the format calls the run, if it has a place for that
    """
    match form:
        case "openai":
            return _json([*messages_to(trace.run.messages)])
        case "markdown":
            return transcript(trace.run)
        case "inspect":
            return _json(inspect_log(trace, name))
        case _:
            assert_never(form)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def inspect_log(trace: Trace, name: str) -> Tree:
    """A log of Inspect with one sample, which nobody has scored."""
    run, digest = trace.run, trace.recorded.digest
    plan, usage = run.state.plan, _usage(run)
    total = {plan.model: usage} if usage else {}
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            "eval_id": digest[:22],
            "run_id": digest[:22],
            "created": _NO_DATE,
            "task": name,
            "task_id": plan.digest[:22],
            "task_version": 0,
            "dataset": {"name": name, "samples": 1, "sample_ids": [name], "shuffled": False},
            "model": plan.model,
            "config": {"epochs": 1},
            "metadata": {"journal": digest, "plan": plan.digest},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": 1, "completed_samples": int(run.completed), "scores": []},
        "stats": {"started_at": _NO_DATE, "completed_at": "", "model_usage": total},
        "samples": [_sample(run, name, total, digest)],
    }


def _sample(run: Run, name: str, usage: Tree, digest: str) -> Tree:
    messages = [inspect_message(message) for message in run.messages]
    words, _ = describe_outcome(run.outcome)
    finish = next((each.finish for each in reversed(run.notes) if isinstance(each, notes.ReplyRead)), "")
    answer: Tree = {"role": "assistant", "content": run.text, "source": "generate"}
    choice: Tree = {"message": answer, "stop_reason": STOP_REASONS.get(finish, "unknown")}
    seconds = {} if run.timing.total_ms is None else {"total_time": run.timing.total_ms / 1000}
    failed: Tree = {"error": {"message": words, "traceback": "", "traceback_ansi": ""}}
    value = getattr(run.outcome, "value", None)
    return {
        "id": name,
        "epoch": 1,
        "input": messages[: len(run.state.plan.messages)],
        "target": "",
        "messages": messages,
        "output": {
            "model": run.state.present.model,
            "choices": [choice] if run.text else [],
            "completion": run.text,
        },
        "metadata": {
            "outcome": run.outcome.name,
            "words": words,
            "turns": run.state.tally.turns,
            **({} if value is None else {"value": parse(value)}),
        },
        "model_usage": usage,
        "uuid": digest[:22],
        **seconds,
        **({} if run.completed else failed),
    }


def _usage(run: Run) -> Tree:
    usage = run.usage
    if not usage.total_tokens:
        return {}
    cost: Tree = {} if run.cost is None else {"total_cost": run.cost}
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        **cost,
    }
