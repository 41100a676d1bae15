"""Small evaluations in this process: plans, runs by scripts or by a server here, and what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from tests.evals.provider import provider
from toolreel._driver import InstantClock
from toolreel.evals import (
    EvaluationJournal,
    EvaluationOutcome,
    ExistingRuns,
    Results,
    connect,
    evaluate,
    load_eval_plan,
    new_header,
    select_scenarios,
)
from toolreel.presets import shipped
from toolreel_core._jsontext import Json, merged
from toolreel_core.evals import EvalPlan, Options, Record, record_line

_THEN = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
KEY = "sk-or-v1-" + "5fd1a80c" * 8
"""An API key that is none."""
LOCAL = ("first/model", "second/model")
SCRIPTED = ("scripted:good", "scripted:bad")


def plan_of(url: str = "", **tables: Json) -> EvalPlan:
    """A plan of two models, one strategy, three scenarios and two trials.

    :param url: where the models are; without one, they are scripts
    :param tables: go over it, as a plan file would have them
    """
    usual: Mapping[str, Json] = {
        "eval": {
            "add_models": [*(LOCAL if url else SCRIPTED)],
            "scenarios": ["happy_path", "type_error_recovery", "no_tool_fits"],
            "trials": 2,
            "seeds": True,
        },
        "endpoint": {
            "base_url": url or "http://127.0.0.1:9",
            "read_timeout": 30,
            "api_key_env": "EVAL_KEY" if url else "",
        },
    }
    return load_eval_plan(None, merged(usual, tables), environ={}, flags={})


def plan_with(*models: str, tables: Mapping[str, object] | None = None, **axes: object) -> EvalPlan:
    """A plan of some models; nobody listens at its endpoint, unless another is named."""
    given = tables or {}
    nowhere = {} if "endpoints" in given else {"endpoint": {"base_url": "http://127.0.0.1:9/v1"}}
    options = Options.of({"eval": {"add_models": [*models], **axes}, **nowhere, **given})
    return EvalPlan(options, shipped(), select_scenarios(options.scenarios))


_STRATEGIES: dict[str, Any] = {
    "reads": {"extends": "raw", "config": {"text_dialects": ["hermes_json"]}},
    "deaf": {"extends": "production", "config": {"text_dialects": []}},
}


def plan_at(
    url: str,
    scenarios: Sequence[str] = ("happy_path",),
    strategies: Sequence[str] = ("raw",),
    strategy: Mapping[str, object] | None = None,
    **axes: object,
) -> EvalPlan:
    """A plan of one model; ``reads`` is raw but for calls in text, which ``deaf`` leaves alone."""
    tables = {"endpoint": {"base_url": url}, "strategy": strategy or _STRATEGIES}
    axes |= {"scenarios": [*scenarios], "strategies": [*strategies]}
    return plan_with("vendor/model", tables=tables, **axes)


@dataclass(slots=True)
class Seen:
    """Somebody who watches, and asks that it be stopped after this many runs."""

    stop: Event = field(default_factory=Event)
    after: int | None = None
    before: ExistingRuns | None = None
    ran: list[Record] = field(default_factory=list)

    def runs_found(self, found: ExistingRuns, /) -> None:
        """Keep what there was."""
        self.before = found

    def run_ended(self, record: Record, /) -> None:
        """Keep the run."""
        self.ran.append(record)
        if len(self.ran) == self.after:
            self.stop.set()


def evaluated(
    plan: EvalPlan, out: Path, seen: Seen | None = None, *, pauses: list[float] | None = None
) -> EvaluationOutcome:
    """Make the runs of a plan that are missing; nobody waits for a provider to recover.

    :param pauses: gets what would have been waited for
    """
    watching = seen or Seen()
    connection = replace(
        connect(plan, {"EVAL_KEY": KEY}),
        clock=InstantClock(),
        pause=(pauses if pauses is not None else []).append,
    )
    with closing(connection):
        return evaluate(plan, out, connection, new_header(plan, _THEN), watching, watching.stop)


def scripted(out: Path, *models: str, **changes: object) -> EvalPlan:
    """Run scripts such as ``scripted:good``, which leaves no cassettes."""
    return _made(out, "http://127.0.0.1:9", models or SCRIPTED, changes)


def served(out: Path, *models: str, **changes: object) -> EvalPlan:
    """Run models on a server, such as ``local-good`` or ``local-hostile``; that leaves a cassette a run."""
    with provider() as far:
        return _made(out, far.url, models, changes)


def _made(out: Path, url: str, models: Sequence[str], changes: dict[str, Any]) -> EvalPlan:
    tables: dict[str, Any] = {key: changes.pop(key) for key in ("strategy", "gate") if key in changes}
    usual: dict[str, Any] = {"strategies": ["raw", "production"], "trials": 2}
    usual["scenarios"] = ["happy_path", "partial_success_failure", "chat_only"]
    tables["endpoint"] = {"base_url": url, "api_key_env": "", "provider": ""}
    plan = plan_with(*models, tables=tables, **{**usual, **changes})
    outcome = evaluate(plan, out, header=new_header(plan, _THEN))
    assert outcome.made == plan.count, outcome
    return plan


def recorded(out: Path, plan: EvalPlan, records: Iterable[Record]) -> Path:
    """A directory with these records in its journal."""
    with EvaluationJournal(out, new_header(plan, _THEN)) as journal:
        for record in records:
            journal.append(record)
    return out


def read(path: Path) -> dict[str, Any]:
    """A file of JSON."""
    tree: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tree


def records(out: Path) -> dict[str, Any]:
    """The trees of all records that count, by their keys, without what a clock has measured."""
    found = dict[str, Any]()
    for record in Results.open(out).records():
        tree = found[record.key] = json.loads(record_line(record))
        for attempt in tree["attempts"]:
            attempt["ms"] = 0
            for asked in attempt["asked"]:
                asked["ms"] = 0
    return found


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
