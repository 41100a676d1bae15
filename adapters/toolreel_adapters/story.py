"""A run told turn by turn, for people: what was asked, what came, what was mended, what the tools said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never, cast

from toolreel.jsontext import Json, JsonText, canonical, parse
from toolreel.messages import AssistantMessage, Message, SentCall, ToolMessage
from toolreel.notes import CallStarted, ContentStripped, RepairApplied, ReplyRead, RequestSent
from toolreel_adapters.finished import Run

__all__ = ["CallTold", "TurnTold", "story"]


@dataclass(frozen=True, slots=True)
class CallTold:
    """One tool call and its result."""

    name: str
    arguments: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``; empty for a call that never ran."""
    ok: bool
    result: str
    """What the tool said, or why the call failed."""


@dataclass(frozen=True, slots=True)
class TurnTold:
    """One request and what came of it."""

    number: int
    messages: int
    """Messages that were sent."""
    digest: str
    """The request's digest."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repairs: tuple[str, ...] = ()
    """What was mended in the reply, by code."""
    stripped: str = ""
    """Beginning of the text that stood beside calls and was kept out of the history."""
    calls: tuple[CallTold, ...] = ()


def story(run: Run) -> tuple[TurnTold, ...]:
    """The turns of a run, in order."""
    turns: dict[int, TurnTold] = {}
    for note in run.notes:
        match note:
            case RequestSent():
                turns[note.turn] = TurnTold(note.turn, note.messages, note.digest)
            case ReplyRead() | RepairApplied() | ContentStripped():
                turns[note.turn] = _noted(turns[note.turn], note)
            case _:
                continue
    said = tuple(run.state.messages.messages)[len(run.state.plan.messages) :]
    provenance = {note.call_id: note.provenance for note in run.notes if isinstance(note, CallStarted)}
    for number, calls in enumerate(_calls(said, provenance), 1):
        turns[number] = replace(turns[number], calls=calls)
    return tuple(turns.values())


def _noted(turn: TurnTold, note: ReplyRead | RepairApplied | ContentStripped) -> TurnTold:
    match note:
        case ReplyRead():
            return replace(turn, prompt_tokens=note.prompt_tokens, completion_tokens=note.completion_tokens)
        case RepairApplied():
            return replace(turn, repairs=(*turn.repairs, note.code))
        case ContentStripped():
            return replace(turn, stripped=note.sample)
        case _:
            assert_never(note)


def _calls(said: tuple[Message, ...], provenance: Mapping[str, str]) -> Iterator[tuple[CallTold, ...]]:
    """The calls of each assistant message: every turn but an empty last one says exactly one."""
    for at, message in enumerate(said):
        if isinstance(message, AssistantMessage):
            results = said[at + 1 : at + 1 + len(message.calls)]
            yield tuple(
                _call(call, result, provenance.get(call.id, ""))
                for call, result in zip(message.calls, results, strict=True)
                if isinstance(result, ToolMessage)
            )


def _call(call: SentCall, result: ToolMessage, provenance: str) -> CallTold:
    envelope = cast("Mapping[str, Json]", parse(JsonText(result.content)))
    if envelope["ok"]:
        return CallTold(call.name, call.arguments, provenance, True, canonical(envelope["data"]))
    errors = cast("list[Mapping[str, str]]", envelope["errors"])
    told = "; ".join(f"{error['code']}: {error['message']}" for error in errors)
    return CallTold(call.name, call.arguments, provenance, False, told)
