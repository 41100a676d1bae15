"""What the notes of a run say to its reader, and how much each matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, assert_never

from toolreel._driver import Run
from toolreel._replay.explain.turns import remarks_of
from toolreel._replay.explain.why import note_words
from toolreel._replay.trace import cut
from toolreel_core._jsontext import Json
from toolreel_core._protocol import Note, notes
from toolreel_core._replies import UNREPAIRED

Level: TypeAlias = Literal["bad", "warn", "info", "silent"]
"""``silent``: what a page shows in another place."""

_LONGEST: Final = 140
"""Characters of a warning above the turns."""


def level_of(note: Note) -> Level:
    """How much a note matters to somebody who looks for what went wrong.

    >>> level_of(notes.RetryPlanned(1, attempt=1, ms=500))
    'warn'
    """
    match note:
        case notes.CallEnded():
            return "silent" if note.ok else "bad"
        case notes.ReplyRead():
            return "bad" if note.problem else "silent"
        case (
            notes.RequestLost()
            | notes.SummaryRejected()
            | notes.CallRejected()
            | notes.CallAbandoned()
            | notes.CallsIgnored()
            | notes.OutputRejected()
            | notes.ToolsDropped()
        ):
            return "bad"
        case (
            notes.OptionIgnored()
            | notes.SchemaReduced()
            | notes.TextCallsOff()
            | notes.HistoryShortened()
            | notes.HistorySummarized()
            | notes.RequestAbandoned()
            | notes.RepairApplied()
            | notes.CallSkipped()
            | notes.ToolsWithheld()
            | notes.PartsLeftOut()
            | notes.CallRepeated()
            | notes.RetryPlanned()
            | notes.ModelNudged()
            | notes.RecoveryTried()
            | notes.EndpointChanged()
            | notes.EndpointPinned()
        ):
            return "warn"
        case (
            notes.PresetsApplied()
            | notes.QuirkApplied()
            | notes.SummaryRequested()
            | notes.UpstreamPinned()
            | notes.ContentStripped()
            | notes.OutputCalled()
            | notes.UserMessageKept()
        ):
            return "info"
        case (
            notes.RequestSent()
            | notes.CallStarted()
            | notes.ApprovalAsked()
            | notes.UserMessagesAdded()
            | notes.ExchangeBegan()
            | notes.RunSettled()
            | notes.LateAnswer()
        ):
            return "silent"
        case _:
            assert_never(note)


def words_of(note: Note) -> str:
    """A note in words.

    >>> words_of(notes.CallEnded(1, "c1", "add", False, ("TIMEOUT",), 90))
    'add failed: TIMEOUT'
    """
    match note:
        case notes.CallEnded():
            return f"{note.name} failed: {', '.join(note.codes) or 'without a code'}"
        case notes.CallRejected():
            return f"{note.name} was not run: {note.code}: {note.message}"
        case notes.CallAbandoned():
            return f"{note.name} got no result: the run ended first"
        case notes.ReplyRead():
            return f"the reply has a problem: {note.problem}"
        case notes.RepairApplied() if note.code in UNREPAIRED:
            return f"noticed in the reply: {note.code}"
        case notes.RepairApplied():
            return f"repaired in the reply: {note.code}"
        case notes.QuirkApplied():
            return f"changed for the provider: {note.name}" + (
                f", {note.times} times" if note.times > 1 else ""
            )
        case notes.ContentStripped():
            return f"the text with the calls is not stored ({note.length:,} characters)"
        case notes.OutputCalled():
            return "the answer came as a call of the final tool"
        case _:
            return "; ".join(remarks_of(note)) or note_words(note)


def told_notes(found: Iterable[Note]) -> list[Json]:
    """Notes for people, as lists of level, kind and words."""
    return [
        [level, type(note).__name__, words_of(note)]
        for note in found
        if (level := level_of(note)) != "silent"
    ]


def warnings_of(run: Run) -> list[tuple[Level, str, list[int]]]:
    """What is worth a warning above the turns, the worst first: level, words and turns of each."""
    found: dict[tuple[Level, str], list[int]] = {}
    for note in run.notes:
        if (level := level_of(note)) in {"bad", "warn"}:
            turns = found.setdefault((level, cut(words_of(note), _LONGEST)), [])
            if (turn := getattr(note, "turn", 0)) not in turns:
                turns.append(turn)
    for words in _unused(run):
        found["warn", words] = []
    ordered = sorted(found.items(), key=lambda each: each[0][0] != "bad")
    return [(level, words, [turn for turn in turns if turn]) for (level, words), turns in ordered]


def _unused(run: Run) -> Iterable[str]:
    """Tools that were offered and never called: an answer may claim what none of them has done."""
    called = {note.name for note in run.notes if isinstance(note, notes.CallStarted)}
    offered = [each.name for each in run.state.plan.tools.definitions]
    unused = [
        name for name in offered if name not in called and run.state.plan.tools.inner(name) not in called
    ]
    if not offered or not unused:
        return
    if len(unused) == len(offered):
        yield f"no tool was run, and {_counted(len(offered))} offered"
    elif len(unused) <= 8:
        yield f"offered and never run: {', '.join(unused)}"


def _counted(tools: int) -> str:
    return "1 was" if tools == 1 else f"{tools} were"
