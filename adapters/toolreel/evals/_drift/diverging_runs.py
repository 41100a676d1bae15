"""The first diverging call of two runs of one task, out of their recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from toolreel._internal.errors import CassetteError
from toolreel.evals._store.recordings import recording_of
from toolreel.evals._store.results import Results
from toolreel.evals._summary.run_pairs import Match
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._records.diverging_call import DivergingCall, diverging_call
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._records.request_divergence import ContentMessage, request_content
from toolreel_core.evals._summary.summary import RunEntry

Conversation: TypeAlias = tuple[ContentMessage, ...]
_Read: TypeAlias = Callable[[RunEntry], Conversation | None]


@dataclass(frozen=True, slots=True)
class DivergedPair:
    """Two runs of one task that ended differently, or that are compared all the same."""

    match: Match
    diverging: DivergingCall | None
    """``None`` if the conversations are the same, or one was not recorded."""
    known: bool
    """Whether both conversations are known."""

    def tree(self) -> Tree:
        """As JSON."""
        cell = self.match.second.cell
        found = self.diverging
        where: dict[str, Json] = (
            {"turn": found.turn, "call": found.call, "first": found.first, "second": found.second}
            if found
            else {"turn": None, "call": None}
        )
        return {
            "model": cell.model,
            "strategy": cell.strategy,
            "scenario": cell.scenario,
            "trial": self.match.second.trial,
            "flip": self.match.flip or None,
            "recorded": self.known,
            **where,
        }


def diverged_pairs(matches: Iterable[Match], first: Results, second: Results) -> tuple[DivergedPair, ...]:
    """Where the runs of each pair first differ.

    :param first: where the first run of each pair is kept
    """
    pairs = [*matches]
    ours, theirs = (
        _conversations(results, {getattr(match, side).key for match in pairs})
        for results, side in ((first, "first"), (second, "second"))
    )
    return tuple(_pair(match, ours.get(match.first.key), theirs.get(match.second.key)) for match in pairs)


def _pair(match: Match, one: Conversation | None, other: Conversation | None) -> DivergedPair:
    if one is None or other is None:
        return DivergedPair(match, None, known=False)
    return DivergedPair(match, diverging_call(one, other), known=True)


def _conversations(results: Results, keys: set[str]) -> Mapping[str, Conversation]:
    found = {}
    for record in results.records():
        if record.key in keys and record.cassette:
            conversation = conversation_of(record, results.path)
            if conversation is not None:
                found[record.key] = conversation
    return found


def conversation_of(record: Record, folder: Path) -> Conversation | None:
    """The last attempt of a run as its last request has it, and the reply to that.

    ``None`` if the recording is gone or cannot be read.
    """
    try:
        exchanges = recording_of(folder, record.cassette).exchanges
    except CassetteError:
        return None
    if not exchanges:
        return None
    body: Tree = json.loads(exchanges[-1].body)
    return (*request_content(body).messages, ContentMessage("assistant", record.final.strip()))
