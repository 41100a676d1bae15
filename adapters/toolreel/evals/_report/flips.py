"""Pairs of runs worth reading: one task under two strategies, of which exactly one run passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, zip_longest

from toolreel.evals._summary.run_pairs import Match, pair_runs
from toolreel_core.evals._summary.summary import Summary


def flips(summary: Summary) -> tuple[Match, ...]:
    """All such pairs, those that are unlike each other first."""
    groups: dict[tuple[str, ...], list[Match]] = {}
    for match in _flips(summary):
        one, other = match.first.cell, match.second.cell
        groups.setdefault((one.strategy, other.strategy, one.scenario, match.flip), []).append(match)
    return tuple(_in_turn(groups.values()))


def _flips(summary: Summary) -> Iterator[Match]:
    """All pairs, strategy by strategy."""
    strategies = dict.fromkeys(task.cell.strategy for task in summary.tasks)
    runs = {
        name: [entry for cell in summary.cells if cell.cell.strategy == name for entry in cell.entries]
        for name in strategies
    }
    for first, second in combinations(strategies, 2):
        yield from (match for match in pair_runs(runs[first], runs[second], "strategy").both if match.flip)


def _in_turn(groups: Iterable[list[Match]]) -> Iterator[Match]:
    for row in zip_longest(*groups):
        yield from (match for match in row if match is not None)
