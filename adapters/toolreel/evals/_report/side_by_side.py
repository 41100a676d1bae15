"""Two transcripts side by side, turn by turn, and the first thing in which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from toolreel.evals._report.transcripts import Transcript, TranscriptTurn


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
