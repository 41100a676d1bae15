"""All runs as data in the page: an index, and transcripts turn by turn, replayed, packed cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolreel._driver import describe_outcome
from toolreel._internal import json_element, packed, packed_element, shortened
from toolreel._replay import TurnSummary, story
from toolreel.evals._replay import rerun
from toolreel.evals._report.tables import RESULTS
from toolreel.evals._summary.totals import AXES, grouped
from toolreel_core._conversation import shown_content, wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, chain
from toolreel_core._protocol import ReplyRead
from toolreel_core.evals import Cell, EvalPlan, ObservedTurn, Record, Trial

LONGEST: Final = 4_000
"""Characters of one text that the page shows."""


def transcript_of(record: Record, plan: EvalPlan, folder: Path) -> Tree:
    """The transcript of a run as data, long texts cut; if it cannot be replayed, the reason."""
    try:
        rerun_of = rerun(record, plan, folder)
    except ToolreelError as error:
        # Files are named from the results on: where these are is no matter of a page that is passed on.
        problem = str(error).replace(f"{folder}/", "")
        empty: dict[str, Json] = {"opening": [], "turns": [], "ending": "", "attempt": 1}
        return as_tree(shortened({**empty, "problem": problem}, LONGEST))
    ended, evidence = rerun_of.run, rerun_of.evidence
    words, _ = describe_outcome(evidence.outcome)
    answered = dict.fromkeys(note.turn for note in ended.notes if isinstance(note, ReplyRead))
    seen: Mapping[int, ObservedTurn] = dict(zip(answered, evidence.turns, strict=True))
    whole: dict[str, Json] = {
        "opening": [[wire_tree(each)["role"], shown_content(each)] for each in ended.state.plan.messages],
        "turns": [_turn_data(turn, seen.get(turn.number)) for turn in story(ended)],
        "ending": f"{evidence.outcome.name}: {words}",
        "attempt": len(record.attempts),
        "problem": "",
    }
    return as_tree(shortened(whole, LONGEST))


def _turn_data(turn: TurnSummary, seen: ObservedTurn | None) -> Json:
    """One request and what came of it, what the loop mended and decided, and what the user said before it."""
    calls: list[Json] = [
        {
            **{name: getattr(call, name) for name in ("name", "arguments", "ok", "result")},
            "codes": [*call.codes],
        }
        for call in (seen.calls if seen else ())
    ]
    return {
        "number": turn.number,
        "text": seen.text if seen else "",
        "finish": seen.finish if seen else "",
        "tokens": f"{turn.prompt_tokens:,} tokens in, {turn.completion_tokens:,} out" if seen else "",
        "remarks": [
            *(f"changed: {name}" for name in turn.quirks),
            *(f"mended: {code}" for code in turn.repairs),
            *(f"noticed: {code}" for code in turn.notices),
            *(f"{name} needs approval" for name in turn.approvals),
            *turn.remarks,
        ],
        "said": [*turn.said],
        "calls": calls,
    }


LIMIT: Final = 14_000_000
"""Bytes of all transcripts; above it, their texts are shortened until they fit."""
_SHORTER: Final = (1_000, 240, 60)
_REASON: Final = 300
_DIGITS: Final = 12
"""Of a key or a digest, for the name of a run or a cell in links and commands."""


def cell_name(cell: Cell) -> str:
    """The name of a cell in links; the same on every page of the same plan."""
    return chain("report cell", *cell.axes)[:_DIGITS]


def run_data(
    made: Sequence[Trial], plan: EvalPlan, transcripts: Mapping[str, Json], folder: str, limit: int = LIMIT
) -> tuple[tuple[str, ...], int]:
    """The elements of a page that hold its runs, and how many characters of a text are kept at most.

    :param transcripts: those that there are, by the key of their run
    :param folder: what commands call the directory of the results
    """
    cells = grouped(made, lambda one: one.cell)
    told: list[Json] = [
        {one.key[:_DIGITS]: transcripts[one.key] for one in rows if one.key in transcripts}
        for rows in cells.values()
    ]
    longest, texts = LONGEST, list[str]()
    for longest in (LONGEST, *_SHORTER):
        texts = [packed(shortened(each, longest)) if each else "" for each in told]
        if sum(map(len, texts)) <= limit:
            break
    index = json_element("run-index", _index_data(cells, plan, transcripts, folder))
    packs = (packed_element(f"cell-{at}", text) for at, text in enumerate(texts) if text)
    return (index, *packs), longest


def _index_data(
    cells: Mapping[Cell, Sequence[Trial]], plan: EvalPlan, transcripts: Mapping[str, Json], folder: str
) -> dict[str, Json]:
    """Texts are named by numbers, since most of them are in many runs.

    Of each run, last is whether the page tells it turn by turn, and whether it was recorded.
    """
    axes = ("scenario", *AXES)
    texts: dict[str, int] = {}
    runs: list[Json] = []
    for at, rows in enumerate(cells.values()):
        for one in rows:
            said = (
                texts.setdefault(text if len(text) <= _REASON else f"{text[:_REASON]} …", len(texts))
                for text in (one.category, one.reason, one.hint)
            )
            told = (int(one.key in transcripts), int(bool(one.cassette)))
            runs.append([at, one.trial, one.key[:_DIGITS], one.outcome, *said, *told])
    names: list[Json] = [[cell_name(cell), *(getattr(cell, axis) for axis in axes)] for cell in cells]
    return {
        "folder": folder,
        "axes": [*axes],
        "packs": {each.name: each.pack for each in plan.scenarios},
        "results": {str(name): words for name, words in RESULTS.items()},
        "cells": names,
        "runs": runs,
        "texts": [*texts],
    }
