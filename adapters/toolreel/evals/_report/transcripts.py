"""Transcripts of runs, turn by turn: replayed from cassettes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolreel._driver import describe_outcome
from toolreel._internal import shortened
from toolreel._replay import TurnSummary, story
from toolreel.evals._replay import rerun
from toolreel_core._conversation import shown_content, wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree
from toolreel_core._protocol import ReplyRead
from toolreel_core.evals import EvalPlan, ObservedTurn, Record

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
        "turns": [_turn(turn, seen.get(turn.number)) for turn in story(ended)],
        "ending": f"{evidence.outcome.name}: {words}",
        "attempt": len(record.attempts),
        "problem": "",
    }
    return as_tree(shortened(whole, LONGEST))


def _turn(turn: TurnSummary, seen: ObservedTurn | None) -> Json:
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
