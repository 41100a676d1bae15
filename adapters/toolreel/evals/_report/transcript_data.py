"""Transcripts of runs, turn by turn: which runs get one, and two of them side by side.

Only some runs have a transcript, so that pages of large evaluations stay readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Final, TypeVar

from toolreel._driver.run_result import Run
from toolreel._replay.explain.outcome import describe_outcome
from toolreel._replay.explain.turns import TurnSummary, story
from toolreel.evals._replay.replay import rerun
from toolreel.evals._summary.run_pairs import Match, pair_runs
from toolreel_core._conversation.message import wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._protocol.notes import ReplyRead
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall, ObservedTurn
from toolreel_core.evals._summary.summary import RunEntry, Summary

_Item = TypeVar("_Item")

TRANSCRIPTS: Final = 300
"""Default maximum of transcripts on a page."""

PAIRS: Final = 24
"""Maximum of pairs that are shown side by side."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The runs whose transcripts a page shows."""

    entries: tuple[RunEntry, ...]
    """In the order of the plan."""
    pairs: tuple[Match, ...]
    """Runs of one task under two strategies of which exactly one passed."""
    runs: int
    """All that there are."""
    flips: int
    """All such pairs."""
    left_out: int
    """Failures without a transcript."""

    @property
    def note(self) -> str:
        """Which transcripts there are, for the reader."""
        if len(self.entries) == self.runs:
            return "All runs are told turn by turn."
        rest = f" {self.left_out:,} further failures are told in the list alone." if self.left_out else ""
        return (
            f"Of {self.runs:,} runs, {len(self.entries):,} are told turn by turn: failures, and the first "
            f"pass of each cell.{rest} The others are in the cassettes."
        )


def select_runs(summary: Summary, max_runs: int = TRANSCRIPTS, pairs: int = PAIRS) -> Selection:
    """Choose runs: all of them if they are few, else pairs, failures and the first pass of each cell.

    :param pairs: how many pairs at most; their runs come first
    """
    flips = _flips(summary)
    side_by_side = _spread(flips)[: min(pairs, max_runs // 2)]
    every = [entry for cell in summary.cells for entry in cell.entries]
    chosen_by_key = {entry.key: entry for match in side_by_side for entry in (match.first, match.second)}
    for entry in every if len(every) <= max_runs else _by_need(summary):
        if len(chosen_by_key) >= max_runs:
            break
        chosen_by_key[entry.key] = entry
    chosen = tuple(entry for entry in every if entry.key in chosen_by_key)
    failures = sum(entry.result == "fail" and entry.key not in chosen_by_key for entry in every)
    return Selection(chosen, tuple(side_by_side), len(every), len(flips), failures)


def _by_need(summary: Summary) -> Iterator[RunEntry]:
    """Runs that are worth reading, the most worthy first; those of all cells in turn."""
    for results in (("fail",), ("pass_unexercised",), ("void", "unsupported")):
        of_cells = [[entry for entry in cell.entries if entry.result in results] for cell in summary.cells]
        yield from _in_turn(of_cells)
    for cell in summary.cells:
        yield from [entry for entry in cell.entries if entry.result == "pass"][:1]


def _flips(summary: Summary) -> list[Match]:
    """All pairs of which exactly one run passed, strategy by strategy."""
    strategies = dict.fromkeys(task.cell.strategy for task in summary.tasks)
    runs = {
        name: [entry for cell in summary.cells if cell.cell.strategy == name for entry in cell.entries]
        for name in strategies
    }
    return [
        match
        for first, second in combinations(strategies, 2)
        for match in pair_runs(runs[first], runs[second], "strategy").both
        if match.flip
    ]


def _spread(flips: Iterable[Match]) -> list[Match]:
    """The same, those that are unlike each other first."""
    groups: dict[tuple[str, ...], list[Match]] = {}
    for match in flips:
        one, other = match.first.cell, match.second.cell
        about = (one.strategy, other.strategy, one.scenario, match.flip)
        groups.setdefault(about, []).append(match)
    return [*_in_turn(groups.values())]


def _in_turn(groups: Iterable[list[_Item]]) -> Iterator[_Item]:
    for row in zip_longest(*groups):
        yield from (item for item in row if item is not None)


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
        return Transcript(problem=str(error))
    ended, evidence = rerun_of.run, rerun_of.evidence
    words, _ = describe_outcome(evidence.outcome)
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


def _turn(turn: TurnSummary, seen: ObservedTurn | None) -> TranscriptTurn:
    mended = tuple(f"mended: {code}" for code in turn.repairs)
    quirks = tuple(f"changed: {name}" for name in turn.quirks)
    noticed = tuple(f"noticed: {code}" for code in turn.notices)
    asked = tuple(f"{name} needs approval" for name in turn.approvals)
    remarks = (*quirks, *mended, *noticed, *asked, *turn.remarks)
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
    """``None`` if the replies are the same, and only the verdict differs."""


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
