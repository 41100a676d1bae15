"""The notes of a run as lines: for `explain`, for the page, and as warnings above the turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Final

from toolreel._driver import Run
from toolreel._replay.trace import cut
from toolreel_core._jsontext import Json
from toolreel_core._protocol import Level, Note, note_sentence, notes

_LONGEST: Final = 140
"""Characters of a warning above the turns."""


def note_line(note: Note) -> str:
    """A note with all of its fields, in one line.

    >>> note_line(notes.RunSettled("completed"))
    'RunSettled: outcome completed'
    """
    shown = (
        f"{each.name} {value}"
        for each in fields(note)
        if each.name != "turn" and (value := getattr(note, each.name)) not in {"", None, ()}
    )
    return f"{type(note).__name__}: {', '.join(shown)}".removesuffix(": ")


def notes_for_page(found: Iterable[Note]) -> list[Json]:
    """The notes that are not silent, as lists of level, kind and sentence."""
    told = ((type(note).__name__, *note_sentence(note)) for note in found)
    return [[level, kind, words] for kind, level, words in told if level != "silent"]


def warnings_of(run: Run) -> list[tuple[Level, str, list[int]]]:
    """What is worth a warning above the turns, the worst first: level, sentence and turns of each."""
    found: dict[tuple[Level, str], list[int]] = {}
    for note in run.notes:
        level, words = note_sentence(note)
        if level in {"bad", "warn"}:
            turns, turn = found.setdefault((level, cut(words, _LONGEST)), []), getattr(note, "turn", 0)
            if turn and turn not in turns:
                turns.append(turn)
    for words in _unused_tools(run):
        found["warn", words] = []
    ordered = sorted(found.items(), key=lambda each: each[0][0] != "bad")
    return [(level, words, turns) for (level, words), turns in ordered]


def _unused_tools(run: Run) -> Iterator[str]:
    """Tools that were offered and never called: an answer may claim what none of them has done."""
    called = {note.name for note in run.notes if isinstance(note, notes.CallStarted)}
    tools = run.state.plan.tools
    offered = [each.name for each in tools.definitions]
    unused = [name for name in offered if not called & {name, tools.inner(name)}]
    if unused and len(unused) == len(offered):
        yield f"no tool was run, and {'1 was' if len(offered) == 1 else f'{len(offered)} were'} offered"
    elif 0 < len(unused) <= 8:
        yield f"offered and never run: {', '.join(unused)}"
