"""One file for each run in the format of the reference harness, with its conversation if replayable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel._internal.errors import CassetteError
from toolreel.evals._replay.replay import rerun
from toolreel.evals._store.results import Results, write_json
from toolreel_core._conversation.message import wire_tree
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext.canonical import Json, Tree, parse
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.notes import ReplyRead
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.evidence import ObservedTurn
from toolreel_core.evals._summary.reference_harness_files import Axes, axis_fields, label
from toolreel_core.evals._summary.summary import RunEntry, Summary
from toolreel_core.evals._verdicts import alias_of

_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
"""Characters that are replaced in file names."""


def write_run_files(results: Results, plan: EvalPlan, summary: Summary) -> int:
    """Write ``runs/*.json`` into the directory of the results; how many files.

    :raises ResultsError: if the results cannot be read, or a file cannot be written
    """
    axes = Axes.of(summary)
    names = {task.cell.task: label(task, axes) for task in summary.tasks}
    entries = {entry.key: entry for cell in summary.cells for entry in cell.entries}
    count = 0
    for record in results.records():
        name = names[record.cell.task]
        conversation: Conversation | str
        try:
            conversation = refold(plan, record, results.path)
        except (CassetteError, ReplayMismatch) as error:
            conversation = str(error)
        tree = _run_tree(record, entries[record.key], name, plan, conversation)
        cell = record.cell
        stem = f"{name}__{cell.scenario}__trial_{record.trial:02}"
        path = results.path / "runs" / f"{_UNFIT.sub('__', stem)}.json"
        write_json(path, tree)
        count += 1
    return count


def _run_tree(
    record: Record, entry: RunEntry, name: str, plan: EvalPlan, rerun_of: Conversation | str
) -> Tree:
    cell, options = record.cell, plan.options
    configuration = parse(record.configuration)
    hint: dict[str, Json] = {"error_hint": record.error_hint} if record.error_hint else {}
    why: dict[str, Json] = {"history_error": rerun_of} if isinstance(rerun_of, str) else {}
    body = record.error_body
    return {
        **axis_fields(cell, name),
        "empty_response_retry": {"max_retries": plan.empty_response_retries, "attempts": entry.attempts},
        "llm_options_defaults": configuration.get("options") if isinstance(configuration, Mapping) else None,
        "content_tag_tool_call_fallback": entry.text_calls,
        "scenario": cell.scenario,
        "trial": record.trial,
        "ok": entry.ok,
        "result": entry.result,
        "elapsed_ms": record.ms,
        "tool_use_mode": options.tool_use_mode,
        "tools_enabled": record.tools_sent,
        "context_tool_calling": configuration,
        "configuration_digest": record.digest,
        "assistant_text": record.final or None,
        "draft": record.world.get("draft") if isinstance(record.world, Mapping) else None,
        "world": record.world,
        "error": entry.error or None,
        "reasons": list(record.verdict.reasons),
        "error_status": record.error_status,
        "error_body": body if isinstance(body, Mapping) else None,
        "error_raw_body": body if isinstance(body, str) else None,
        "error_category": alias_of(record.verdict.category, record.error_status) or None,
        "category": record.verdict.category or None,
        **hint,
        "key": record.key,
        "cassette": record.cassette or None,
        "history": None if isinstance(rerun_of, str) else list(rerun_of.history),
        "trace": None if isinstance(rerun_of, str) else list(rerun_of.trace),
        **why,
    }


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of the last attempt of a run."""

    history: tuple[Tree, ...]
    """All messages, as they go over the wire."""
    trace: tuple[Tree, ...]
    """An entry for each reply of the model."""


def refold(plan: EvalPlan, record: Record, folder: Path) -> Conversation:
    """Run a record's sample again, offline; all attempts, of which the last counts.

    :raises CassetteError: if it was not recorded, or its cassette cannot be read or trusted
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    rerun_of = rerun(record, plan, folder)
    ended, seen = rerun_of.run, rerun_of.evidence
    replies = {note.turn: note for note in ended.notes if isinstance(note, ReplyRead)}
    trace = zip(replies.values(), seen.turns, strict=True)
    request = _request(ended.state.plan)
    return Conversation(
        tuple(wire_tree(message) for message in ended.state.messages.messages),
        tuple(_entry(request, reply, turn) for reply, turn in trace),
    )


def _request(asked: Plan) -> Tree:
    config = asked.config
    listed = (
        *("message_transforms", "tool_transforms", "response_transforms", "tool_call_transforms"),
        *("tool_result_transforms", "text_dialects"),
    )
    return {
        "model": asked.model,
        "tools_count": len(asked.tools.names) if asked.sends_tools else 0,
        "tool_use_mode": config.tool_use_mode,
        "tool_failure_policy": config.tool_failure_policy,
        **{key: [*getattr(config, key)] for key in listed},
    }


def _entry(request: Tree, reply: ReplyRead, turn: ObservedTurn) -> Tree:
    return {
        "turn": reply.turn,
        "request": request,
        "response_summary": {
            "has_tool_calls": bool(reply.calls),
            "tool_calls_count": reply.calls,
            "ignored_tool_calls_count": max(0, reply.calls - len(turn.calls)),
            "usage": {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens},
            "finish_reason": reply.finish,
            "problem": reply.problem or None,
        },
        "tool_calls": [
            {"name": call.name, "arguments_bytes": len(call.arguments.encode())} for call in turn.calls
        ],
        "tool_results": [
            {"name": call.name, "ok": call.ok, "error_codes": [*call.codes]} for call in turn.calls
        ],
    }
