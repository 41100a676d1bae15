"""Which runs have a transcript on the page: all of a small evaluation, else those worth reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import Final, TypeVar

from toolreel.evals._summary.run_pairs import Match, pair_runs
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
