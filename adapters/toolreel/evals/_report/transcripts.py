"""Runs turn by turn, as a page tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from toolreel._driver.run import Run
from toolreel._replay.explain.advice import describe_outcome
from toolreel._replay.explain.turns import TurnSummary, story
from toolreel.evals._replay.replay import rerun
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._errors import ToolreelError
from toolreel_core._protocol.notes import ReplyRead
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall, ObservedTurn


@dataclass(frozen=True, slots=True)
class OpeningMessage:
    """A message that the run began with."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class TranscriptCall:
    """A tool call, and its result as the model read it."""

    name: str
    arguments: str
    ok: bool
    codes: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One request and what came of it."""

    number: int
    text: str
    """What the model said, beside its calls or alone."""
    finish: str
    """Why the reply ended; empty if there was none."""
    calls: tuple[TranscriptCall, ...]
    remarks: tuple[str, ...]
    """What the loop mended and decided."""
    tokens: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """One run."""

    opening: tuple[OpeningMessage, ...] = ()
    turns: tuple[TranscriptTurn, ...] = ()
    """Of the last attempt."""
    ending: str = ""
    """How the loop ended, in words."""
    attempt: int = 1
    problem: str = ""
    """Why it cannot be told; empty if it is."""


def transcript_of(record: Record, plan: EvalPlan, folder: Path) -> Transcript:
    """A run turn by turn; if it cannot be made again, why.

    :param folder: the directory of the results
    """
    try:
        rerun_of = rerun(record, plan, folder)
    except ToolreelError as error:
        return Transcript(problem=str(error))
    ended, evidence = rerun_of.run, rerun_of.evidence
    words, _ = describe_outcome(evidence.outcome)
    return Transcript(
        tuple(map(_opening_message, ended.state.plan.messages)),
        _turns(ended, evidence),
        f"{evidence.outcome.name}: {words}",
        len(record.attempts),
    )


def _turns(ended: Run, evidence: Evidence) -> tuple[TranscriptTurn, ...]:
    answered = dict.fromkeys(note.turn for note in ended.notes if isinstance(note, ReplyRead))
    seen: Mapping[int, ObservedTurn] = dict(zip(answered, evidence.turns, strict=True))
    return tuple(_turn(turn, seen.get(turn.number)) for turn in story(ended))


def _turn(turn: TurnSummary, seen: ObservedTurn | None) -> TranscriptTurn:
    mended = tuple(f"mended: {code}" for code in turn.repairs)
    quirks = tuple(f"changed: {name}" for name in turn.quirks)
    remarks = (*quirks, *mended, *turn.remarks)
    if seen is None:
        return TranscriptTurn(turn.number, "", "", (), remarks, "")
    tokens = f"{turn.prompt_tokens:,} tokens in, {turn.completion_tokens:,} out"
    return TranscriptTurn(turn.number, seen.text, seen.finish, tuple(map(_call, seen.calls)), remarks, tokens)


def _call(call: ObservedCall) -> TranscriptCall:
    return TranscriptCall(call.name, call.arguments, call.ok, call.codes, call.result)


def _opening_message(message: Message) -> OpeningMessage:
    match message:
        case SystemMessage():
            return OpeningMessage("system", message.content)
        case UserMessage():
            return OpeningMessage("user", message.content)
        case AssistantMessage():
            return OpeningMessage("assistant", message.content)
        case ToolMessage():
            return OpeningMessage("tool", message.content)
        case _:
            assert_never(message)
