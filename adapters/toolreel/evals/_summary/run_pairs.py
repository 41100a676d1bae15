"""Pairs of runs: the same task under two strategies, on two models, or in two evaluations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core.evals._statistics.counts import Pairs
from toolreel_core.evals._summary.summary import RunEntry

Axis: TypeAlias = Literal["", "model", "profile", "strategy", "fallback", "language", "endpoint"]
"""What two sides differ in within one evaluation; empty: they are two evaluations."""

Flip: TypeAlias = Literal["", "gained", "lost"]

AXES: Final = ("model", "profile", "strategy", "fallback", "language", "endpoint")
"""Those that can be compared within one evaluation."""


@dataclass(frozen=True, slots=True)
class Match:
    """One task that both sides have run."""

    first: RunEntry
    second: RunEntry

    @property
    def valid(self) -> bool:
        """Whether both runs say something about the model."""
        return valid(self.first) and valid(self.second)

    @property
    def flip(self) -> Flip:
        """Whether the second passes where the first did not, or the other way round."""
        if not self.valid or self.first.ok == self.second.ok:
            return ""
        return "gained" if self.second.ok else "lost"


@dataclass(frozen=True, slots=True)
class Matches:
    """All tasks of two sides."""

    both: tuple[Match, ...]
    only_first: tuple[RunEntry, ...]
    """Runs of tasks that the second has not run."""
    only_second: tuple[RunEntry, ...]

    @property
    def invalid(self) -> int:
        """Tasks that both have run, and of which a run is void or unsupported."""
        return sum(not match.valid for match in self.both)


def valid(entry: RunEntry) -> bool:
    """Whether a run counts in a rate."""
    return entry.result in {"pass", "pass_unexercised", "fail"}


def task_of(entry: RunEntry, axis: Axis) -> tuple[str | int, ...]:
    """What a run is about, leaving out the axis that is compared."""
    cell = entry.cell
    named = (cell.scenario, *(getattr(cell, each) for each in AXES if each != axis))
    return (*named, entry.trial)


def cluster_of(axis: Axis) -> Callable[[RunEntry], Hashable]:
    """The key of similar runs: model and scenario, without the compared axis."""
    other = "strategy" if axis == "model" else "model"
    return lambda entry: (getattr(entry.cell, other), entry.cell.scenario)


def pair_runs(first: Iterable[RunEntry], second: Iterable[RunEntry], axis: Axis = "") -> Matches:
    """The runs of two sides, paired by all that is not compared, trial by trial."""
    ones: Mapping[tuple[str | int, ...], RunEntry] = {task_of(entry, axis): entry for entry in first}
    others = {task_of(entry, axis): entry for entry in second}
    return Matches(
        tuple(Match(entry, others[task]) for task, entry in ones.items() if task in others),
        tuple(entry for task, entry in ones.items() if task not in others),
        tuple(entry for task, entry in others.items() if task not in ones),
    )


def clustered_pairs(matches: Iterable[Match], axis: Axis) -> tuple[Pairs, ...]:
    """A table of pairs for each cluster; of valid runs only."""
    cluster, groups = cluster_of(axis), dict[Hashable, list[tuple[bool, bool]]]()
    for match in matches:
        if match.valid:
            groups.setdefault(cluster(match.first), []).append((match.first.ok, match.second.ok))
    return tuple(map(Pairs.of, groups.values()))
