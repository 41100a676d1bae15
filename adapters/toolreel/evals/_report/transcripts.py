"""Transcripts of runs, turn by turn; and two of them side by side, with their first difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from toolreel._driver.run import Run
from toolreel._replay.explain.advice import told
from toolreel._replay.explain.turns import TurnTold, story
from toolreel.evals._replay.replay import rerun
from toolreel_core._conversation.message import wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._protocol.notes import ReplyRead
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall, ObservedTurn


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One request and what came of it."""

    number: int
    text: str
    """What the model said, beside its calls or alone."""
    finish: str
    """Why the reply ended; empty if there was none."""
    calls: tuple[ObservedCall, ...]
    remarks: tuple[str, ...]
    """What the loop mended and decided."""
    tokens: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """One run."""

    opening: tuple[tuple[str, str], ...] = ()
    """Role and text of the messages that the run began with."""
    turns: tuple[TranscriptTurn, ...] = ()
    """Of the last attempt."""
    ending: str = ""
    """How the loop ended, in words."""
    attempt: int = 1
    problem: str = ""
    """Why it cannot be told; empty if it is."""


def transcript_of(record: Record, plan: EvalPlan, folder: Path) -> Transcript:
    """A run turn by turn; if it cannot be made again, why."""
    try:
        rerun_of = rerun(record, plan, folder)
    except ToolreelError as error:
        return Transcript(problem=str(error))
    ended, evidence = rerun_of.run, rerun_of.evidence
    words, _ = told(evidence.outcome)
    return Transcript(
        tuple((str(wire_tree(each)["role"]), each.content) for each in ended.state.plan.messages),
        _turns(ended, evidence),
        f"{evidence.outcome.name}: {words}",
        len(record.attempts),
    )


def _turns(ended: Run, evidence: Evidence) -> tuple[TranscriptTurn, ...]:
    answered = dict.fromkeys(note.turn for note in ended.notes if isinstance(note, ReplyRead))
    seen: Mapping[int, ObservedTurn] = dict(zip(answered, evidence.turns, strict=True))
    return tuple(_turn(turn, seen.get(turn.number)) for turn in story(ended))


def _turn(turn: TurnTold, seen: ObservedTurn | None) -> TranscriptTurn:
    mended = tuple(f"mended: {code}" for code in turn.repairs)
    quirks = tuple(f"changed: {name}" for name in turn.quirks)
    remarks = (*quirks, *mended, *turn.remarks)
    if seen is None:
        return TranscriptTurn(turn.number, "", "", (), remarks, "")
    tokens = f"{turn.prompt_tokens:,} tokens in, {turn.completion_tokens:,} out"
    return TranscriptTurn(turn.number, seen.text, seen.finish, seen.calls, remarks, tokens)


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first thing in which two runs differ."""

    turn: int
    """0: in what they begin with; one more than they have turns: in how they ended."""
    what: str
    """Such as ``the arguments of call 1``."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two transcripts, turn by turn."""

    rows: tuple[tuple[TranscriptTurn | None, TranscriptTurn | None], ...]
    first_difference: FirstDifference | None
    """``None`` if the models said the same, and only the judgement differs."""


def side_by_side(first: Transcript, second: Transcript) -> SideBySide:
    """Put two runs side by side; what the loop remarked, and tokens, are no difference."""
    return SideBySide(tuple(zip_longest(first.turns, second.turns)), _first_difference(first, second))


def _first_difference(first: Transcript, second: Transcript) -> FirstDifference | None:
    if first.opening != second.opening:
        return FirstDifference(0, "what they were told to begin with")
    for number, (one, other) in enumerate(zip_longest(first.turns, second.turns), 1):
        if one is None or other is None:
            return FirstDifference(number, "only one of them has this turn")
        if what := _turn_differs(one, other):
            return FirstDifference(number, what)
    if first.ending != second.ending:
        return FirstDifference(len(first.turns) + 1, "how they ended")
    return None


def _turn_differs(one: TranscriptTurn, other: TranscriptTurn) -> str:
    for at, (call, opposite) in enumerate(zip_longest(one.calls, other.calls), 1):
        if call is None or opposite is None:
            return f"{len(one.calls)} calls, and {len(other.calls)}"
        for what in ("name", "arguments", "result"):
            if getattr(call, what) != getattr(opposite, what):
                return f"the {what} of call {at}"
    if one.text != other.text:
        return "the text"
    return "why the reply ended" if one.finish != other.finish else ""
