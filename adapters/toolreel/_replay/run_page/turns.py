"""The turns of a recorded run as data for its page: each event with the effect that it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TypeAlias, assert_never

from toolreel._replay.run_page.items import Items
from toolreel._replay.run_page.remarks import told_notes
from toolreel._replay.trace import Trace, Traced
from toolreel_core._conversation import UserMessage, wire_part
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, read
from toolreel_core._loop import received
from toolreel_core._protocol import AskApproval, Note, RunTool, SendRequest, Settled, Wait, events, notes
from toolreel_core._replies import ArgumentError, ToolCall, unstreamed

Steps: TypeAlias = list[Json]


class RunTurns:
    """The steps of each turn of a run."""

    def __init__(self, trace: Trace) -> None:
        self.items = Items()
        self.options: dict[str, int] = {}
        """What requests have besides messages, each once, with its number."""
        self.steps: dict[int, Steps] = {}
        self._last = max(1, trace.run.state.tally.turns)
        for traced in trace.events:
            self.steps.setdefault(self._turn(traced), []).extend(self._steps(traced))

    def _turn(self, traced: Traced) -> int:
        """The turn that an event belongs to; what begins an exchange belongs to its first turn."""
        turn = max(1, traced.before.tally.turns)
        begins = isinstance(traced.record.event, events.UserSpoke) and isinstance(
            traced.before.phase, Settled
        )
        return min(self._last, turn + 1) if begins else turn

    def _steps(self, traced: Traced) -> Iterator[Json]:
        if isinstance(traced.effect, SendRequest):
            yield self._request(traced, traced.effect)
        lap = traced.record.lap
        yield {
            "n": traced.record.n,
            **self._event(traced),
            "notes": told_notes(traced.notes),
            **({} if lap is None else {"ms": lap.ms, "first_ms": lap.first_ms}),
        }

    def _request(self, traced: Traced, effect: SendRequest) -> Tree:
        request = effect.request
        options = self.options.setdefault(request.options.text, len(self.options))
        system = {"system": request.sent.system.decode()} if request.sent.system else {}
        return {
            "kind": "request",
            "n": traced.record.n,
            "model": request.model,
            "endpoint": effect.endpoint,
            "purpose": effect.purpose,
            "form": request.form,
            "messages": request.sent.texts.count,
            "bytes": request.sent.size,
            "digest": request.digest,
            "streamed": request.streamed,
            "options": options,
            "sent": self.items.sent(request, traced.before.messages),
            **system,
        }

    def _event(self, traced: Traced) -> Tree:
        event, effect = traced.record.event, traced.effect
        match event:
            case events.ReplyReceived():
                return _reply(event, traced)
            case events.RequestFailed():
                return {"kind": "failed", **_fields(event)}
            case events.ToolReturned():
                return {"kind": "tool", **_called(effect), **self._output(event), **_judged(traced.notes)}
            case events.ApprovalGiven():
                return {
                    "kind": "approval",
                    **_called(effect),
                    "approved": event.approved,
                    "reason": event.reason,
                }
            case events.WaitElapsed():
                return {"kind": "wait", "planned_ms": effect.ms if isinstance(effect, Wait) else 0}
            case events.CancelRequested():
                return {"kind": "cancelled", "reason": event.reason}
            case events.UserSpoke():
                said = UserMessage(event.content, event.parts)
                return {"kind": "user", "message": self.items.message(said)}
            case events.RunStarted():
                return {"kind": "started"}
            case _:
                assert_never(event)

    def _output(self, event: events.ToolReturned) -> Tree:
        parts: Tree = {"parts": [wire_part(part) for part in event.parts]} if event.parts else {}
        spent: Tree = {} if event.spent is None else {"spent": asdict(event.spent)}
        return {"output": event.output, **parts, **spent}


def _fields(event: events.RequestFailed) -> Tree:
    return {
        "failure": event.failure,
        "status": event.status,
        "message": event.message,
        "raw": event.body,
        "retry_after_ms": event.retry_after_ms,
    }


def _reply(event: events.ReplyReceived, traced: Traced) -> Tree:
    reply = received(event.body, traced.before).reply
    # A body that was streamed is the frames; whole, it is what the page shows first.
    whole, _ = unstreamed(event.body)
    return {
        "kind": "reply",
        "status": event.status,
        "text": reply.content,
        "reasoning": reply.reasoning,
        "finish": reply.finish,
        "problem": reply.problem.code if reply.problem else "",
        "calls": [_call(call) for call in reply.calls],
        "usage": asdict(reply.usage),
        "served": asdict(reply.served),
        "frames": None if whole is event.body else event.body.count("data:"),
        "raw": event.body,
    }


def _call(call: ToolCall) -> Tree:
    match call.arguments:
        case JsonText():
            arguments, error = str(call.arguments), ""
        case ArgumentError():
            arguments, error = call.original, call.arguments.detail or call.arguments.code
        case _:
            assert_never(call.arguments)
    return {
        "id": call.id,
        "name": call.name,
        "arguments": arguments,
        "error": error,
        "original": ""
        if error or read(call.original).map(canonical).value_or(call.original) == arguments
        else call.original,
        "from": call.provenance,
    }


def _called(effect: object) -> Tree:
    match effect:
        case RunTool() | AskApproval():
            key = effect.key if isinstance(effect, RunTool) else ""
            return {
                "call": effect.call_id,
                "name": effect.name,
                "arguments": str(effect.arguments),
                "key": key,
            }
        case _:
            return {"call": "", "name": "", "arguments": "", "key": ""}


def _judged(found: Iterable[Note]) -> Tree:
    """Whether a call worked, as the run has noted it."""
    ended = next((note for note in found if isinstance(note, notes.CallEnded)), None)
    return {"ok": ended is None or ended.ok, "codes": [] if ended is None else [*ended.codes]}
