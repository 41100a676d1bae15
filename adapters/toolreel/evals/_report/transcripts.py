"""Transcripts of runs, turn by turn: replayed from cassettes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolreel._driver import Run
from toolreel._replay import TurnSummary, describe_outcome, story
from toolreel.evals._replay.replay import rerun
from toolreel_core._conversation import shown_content, wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._protocol import ReplyRead
from toolreel_core.evals import EvalPlan, Evidence, ObservedCall, ObservedTurn, Record


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One request and what came of it."""

    number: int
    text: str
    """The text of the reply."""
    finish: str
    """Why the reply ended; empty if there was none."""
    calls: tuple[ObservedCall, ...]
    remarks: tuple[str, ...]
    """What the loop mended and decided."""
    tokens: str
    said: tuple[str, ...] = ()
    """Beginning of each message of the user that it was the first to send; not of the opening."""


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
    """Why there is no transcript; empty if there is one."""


def transcript_of(record: Record, plan: EvalPlan, folder: Path) -> Transcript:
    """The transcript of a run; if it cannot be replayed, the reason."""
    try:
        rerun_of = rerun(record, plan, folder)
    except ToolreelError as error:
        # Files are named from the results on: where these are is no matter of a page that is passed on.
        return Transcript(problem=str(error).replace(f"{folder}/", ""))
    ended, evidence = rerun_of.run, rerun_of.evidence
    words, _ = describe_outcome(evidence.outcome)
    return Transcript(
        tuple((str(wire_tree(each)["role"]), shown_content(each)) for each in ended.state.plan.messages),
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
    noticed = tuple(f"noticed: {code}" for code in turn.notices)
    asked = tuple(f"{name} needs approval" for name in turn.approvals)
    remarks = (*quirks, *mended, *noticed, *asked, *turn.remarks)
    if seen is None:
        return TranscriptTurn(turn.number, "", "", (), remarks, "", turn.said)
    tokens = f"{turn.prompt_tokens:,} tokens in, {turn.completion_tokens:,} out"
    return TranscriptTurn(turn.number, seen.text, seen.finish, seen.calls, remarks, tokens, turn.said)
