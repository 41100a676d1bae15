"""Evaluations that were really run, against a provider on this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolreel.evals import Results, select_scenarios
from toolreel.presets import with_files
from toolreel_core.evals import EvalPlan, Options

__all__ = ["NO_TEXT_CALLS", "TEXT_CALLS", "planned", "quoting", "verdicts", "written_out"]

TEXT_CALLS = {"extends": "raw", "config": {"text_dialects": ["hermes_json"]}}
NO_TEXT_CALLS: dict[str, Any] = {"extends": "production", "config": {"text_dialects": []}}


def planned(
    url: str,
    scenarios: Sequence[str] = ("happy_path",),
    strategies: Sequence[str] = ("raw",),
    **more: Any,  # noqa: ANN401 - what is in a plan file
) -> EvalPlan:
    """A plan of one model, with the strategies ``reads`` (raw but for calls in text) and ``deaf``."""
    tree = {
        "eval": {"add_models": ["vendor/model"], "strategies": [*strategies], **more.pop("eval", {})},
        "endpoint": {"base_url": url},
        "strategy": {"reads": TEXT_CALLS, "deaf": NO_TEXT_CALLS},
        **more,
    }
    return EvalPlan(Options.of(tree), with_files(), select_scenarios(scenarios))


def written_out(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply that writes its calls into its text, as some models do."""
    choice = reply["choices"][0]
    calls = choice["message"].get("tool_calls")
    if not calls:
        return reply
    told = [
        {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in calls
    ]
    text = "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in told)
    message = {"role": "assistant", "content": text}
    return {**reply, "choices": [{**choice, "message": message, "finish_reason": "stop"}]}


def quoting(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply that ends with an example of a call, which nobody is to make."""
    choice = reply["choices"][0]
    if choice["message"].get("tool_calls"):
        return reply
    call = '<tool_call>{"name": "state_get", "arguments": {}}</tool_call>'
    message = {**choice["message"], "content": f"{choice['message']['content']} {call}"}
    return {**reply, "choices": [{**choice, "message": message}]}


def verdicts(folder: Path) -> list[str]:
    """What the runs came to, in the order of the journal."""
    return [record.verdict.result for record in Results.open(folder).records()]
