"""The conversation of a run, which no record keeps: folded again from its cassette, or from its script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolreel.evals._replay.rerun import made_again
from toolreel_core._conversation.message import wire_tree
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.notes import ReplyRead
from toolreel_core.evals._plan.plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.evidence import SeenTurn

__all__ = ["Refolded", "refolded"]


@dataclass(frozen=True, slots=True)
class Refolded:
    """What was said in the last attempt of a run."""

    history: tuple[Tree, ...]
    """All messages, as they go over the wire."""
    trace: tuple[Tree, ...]
    """An entry for each reply of the model."""


def refolded(plan: EvalPlan, record: Record, folder: Path) -> Refolded:
    """Run a record's sample once more, offline; all attempts, of which the last counts.

    :param folder: the directory of the results
    :raises CassetteError: if it was not recorded, or its cassette cannot be read or trusted
    :raises toolreel.ReplayMismatch: if the run would ask something else now
    """
    again = made_again(record, plan, folder)
    ended, seen = again.run, again.evidence
    replies = {note.turn: note for note in ended.notes if isinstance(note, ReplyRead)}
    trace = zip(replies.values(), seen.turns, strict=True)
    request = _request(ended.state.plan)
    return Refolded(
        tuple(wire_tree(message) for message in ended.state.messages.messages),
        tuple(_entry(request, reply, turn) for reply, turn in trace),
    )


def _request(asked: Plan) -> Tree:
    config = asked.config
    return {
        "model": asked.model,
        "tools_count": len(asked.tools.names) if asked.sends_tools else 0,
        "tool_use_mode": config.tool_use_mode,
        "tool_failure_policy": config.tool_failure_policy,
        "message_transforms": [*config.message_transforms],
        "tool_transforms": [*config.tool_transforms],
        "response_transforms": [*config.response_transforms],
        "tool_call_transforms": [*config.tool_call_transforms],
        "tool_result_transforms": [*config.tool_result_transforms],
        "text_dialects": [*config.text_dialects],
    }


def _entry(request: Tree, reply: ReplyRead, turn: SeenTurn) -> Tree:
    return {
        "turn": reply.turn,
        "request": request,
        "response_summary": {
            "has_tool_calls": bool(reply.calls),
            "tool_calls_count": reply.calls,
            "ignored_tool_calls_count": max(0, reply.calls - len(turn.calls)),
            "usage": {
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
            },
            "finish_reason": reply.finish,
            "problem": reply.problem or None,
        },
        "tool_calls": _calls(turn),
        "tool_results": [
            {"name": call.name, "ok": call.ok, "error_codes": [*call.codes]} for call in turn.calls
        ],
    }


def _calls(turn: SeenTurn) -> list[Json]:
    return [{"name": call.name, "arguments_bytes": len(call.arguments.encode())} for call in turn.calls]
