"""Pairs of runs: the same task under two strategies, on two models, or in two evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core.evals import PairedCell, Pairs, RunEntry

Axis: TypeAlias = Literal["", "model", "profile", "strategy", "fallback", "endpoint"]
"""What two sides differ in within one evaluation; empty: they are two evaluations."""

Flip: TypeAlias = Literal["", "gained", "lost"]

AXES: Final = ("model", "profile", "strategy", "fallback", "endpoint")
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


def task_of(entry: RunEntry, *compared: str) -> tuple[str | int, ...]:
    """What a run is about, leaving out the axes that are compared."""
    return (*_cell_of(entry, *compared), entry.trial)


def scenario_and_model(entry: RunEntry, *compared: str) -> tuple[str, str]:
    """What runs are alike by; no model if the models are what is compared."""
    return entry.cell.scenario, "" if "model" in compared else entry.cell.model


def pair_runs(first: Iterable[RunEntry], second: Iterable[RunEntry], *compared: str) -> Matches:
    """The runs of two sides, paired by all that is not compared, trial by trial."""
    ones: Mapping[tuple[str | int, ...], RunEntry] = {task_of(entry, *compared): entry for entry in first}
    others = {task_of(entry, *compared): entry for entry in second}
    return Matches(
        tuple(Match(entry, others[task]) for task, entry in ones.items() if task in others),
        tuple(entry for task, entry in ones.items() if task not in others),
        tuple(entry for task, entry in others.items() if task not in ones),
    )


def paired_cells(matches: Iterable[Match], *compared: str) -> tuple[PairedCell, ...]:
    """A table of pairs for each scenario under each configuration; of valid runs only."""
    cells: dict[tuple[str, ...], list[Match]] = {}
    for match in matches:
        if match.valid:
            cells.setdefault(_cell_of(match.first, *compared), []).append(match)
    return tuple(
        PairedCell(
            *scenario_and_model(those[0].first, *compared),
            Pairs.of((match.first.ok, match.second.ok) for match in those),
        )
        for those in cells.values()
    )


def _cell_of(entry: RunEntry, *compared: str) -> tuple[str, ...]:
    axes = (str(getattr(entry.cell, each)) for each in AXES if each not in compared)
    return (entry.cell.scenario, *axes)
