"""Compare two evaluations, or two values of one axis within an evaluation, trial by trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from toolreel.evals._results import Results
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import Difference, PairedCell, difference, holm
from toolreel.evals._summary.totals import (
    AXES,
    Pair,
    group_trials,
    paired_cells,
    pairs_of,
)
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core.evals import (
    SAMPLE,
    THESE,
    EvalPlan,
    Trial,
    incompleteness_sentence,
    tree_changes,
)

Flip: TypeAlias = Literal["gained", "lost"]


@dataclass(frozen=True, slots=True)
class Row:
    """The comparison of one group of trials."""

    axis: str
    """What groups are made by; empty for all tool runs."""
    value: str
    trials: tuple[Sequence[Trial], Sequence[Trial]]
    cells: tuple[PairedCell, ...]
    sample: Difference | None
    """About scenarios such as these; ``None`` for the row of a scenario, or without a pair."""
    these: Difference | None
    """About these scenarios; ``None`` without a pair."""
    p_holm: float | None = None
    """The p-value, adjusted for all groups of this axis."""

    @property
    def shown_difference(self) -> Difference | None:
        """The one that tables show: about scenarios such as these, if there is more than one."""
        return self.sample if self.sample and self.sample.scenarios > 1 else self.these

    @property
    def pair_counts(self) -> dict[str, int]:
        """How many pairs both sides passed, and so on."""
        names = ("both", "lost", "gained", "neither")
        return {name: sum(getattr(cell, name) for cell in self.cells) for name in names}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides."""

    first: str
    second: str
    axes: tuple[str, ...]
    """What is compared; empty for two evaluations of the same plan."""
    sides: tuple[tuple[Trial, ...], tuple[Trial, ...]]
    pairs: tuple[Pair, ...]
    rows: tuple[Row, ...]
    """That of all tool runs first."""
    plans: tuple[EvalPlan, EvalPlan]
    headers: tuple[str, ...]
    """How the plans and versions of two evaluations differ, a line each."""

    @property
    def incomplete(self) -> str:
        """What lacks, in a sentence; empty if nothing."""
        if lacking := sum(one.lacking for side in self.sides for one in side):
            return f"Incomplete (runs missing or void: {lacking})."
        first, second = self.sides
        # Within one evaluation, its share of void runs is that of both sides.
        wholes = [(*first, *second)] if self.plans[0] is self.plans[1] else [first, second]
        lacks = (incompleteness_sentence(whole, self.plans[1].options.min_coverage) for whole in wholes)
        return next(filter(None, lacks), "")

    @property
    def valid_pairs(self) -> list[Pair]:
        """The pairs of which both say something about the model."""
        return [(one, two) for one, two in self.pairs if one.valid and two.valid]

    @property
    def unpaired(self) -> tuple[int, int]:
        """Number of runs of each side that have no partner."""
        first, second = (sum(bool(one.key) for one in side) - len(self.pairs) for side in self.sides)
        return first, second

    def flips(self, kind: Flip) -> list[Pair]:
        """The pairs of which the second passed and the first did not, or the other way round."""
        return [
            (one, two) for one, two in self.valid_pairs if one.ok != two.ok and two.ok == (kind == "gained")
        ]

    def categories(self) -> dict[str, tuple[int, int]]:
        """Number of paired runs by why they did not pass, on each side."""
        before, after = (Counter(pair[side].category for pair in self.pairs) for side in (0, 1))
        return {name: (before[name], after[name]) for name in sorted({*before, *after}) if name}


def compare(folder: Path | str, others: Sequence[str], by: str = "") -> Comparison:
    """Compare two sides.

    Two directories that have one value each of an axis, and not the same, such as one model, are compared
    over it.

    :param others: another directory; or, within one, two values
    :param by: the axis of these values
    :raises ResultsError: if a directory has no evaluation
    :raises ConfigError: if these are not two sides
    """
    if len(others) != (2 if by else 1):
        raise ConfigError("name two directories, or one with --by and two values, such as raw production")
    opened = [Results.open(each) for each in (folder, *others[: 0 if by else 1])]
    plans = [plan_of_header(each.header) for each in opened]
    tables = [each.trials(plan) for each, plan in zip(opened, plans, strict=True)]
    names, axes = [str(each.path) for each in opened], tuple(filter(None, [by]))
    if by:
        names, groups = [*others], group_trials(tables[0], lambda one: str(getattr(one.cell, by)))
        for value in names:
            if value not in groups:
                raise ConfigError(f"{opened[0].path}: {unknown_name(by, value, groups)}")
        tables = [tuple(groups[value]) for value in names]
    sides = tables[0], tables[1]
    for axis in () if by else AXES:
        one, other = ({getattr(each.cell, axis) for each in side} for side in sides)
        axes += (axis,) if len(one) == len(other) == 1 and one != other else ()
    pairs = [pair for pair in pairs_of(*sides, *axes) if pair[0].key and pair[1].key]
    if not pairs:
        raise ConfigError("no run of the one has the same task and trial as a run of the other")
    headers = [canonical(replace(each.header, created="").tree()) for each in opened]
    return Comparison(
        *(names[0], names[1]),
        axes,
        sides,
        tuple(pairs),
        tuple(_pair_rows(sides, pairs, axes)),
        (plans[0], plans[-1]),
        tree_changes(headers[0], headers[-1]),
    )


def _pair_rows(
    sides: tuple[Sequence[Trial], Sequence[Trial]], pairs: Sequence[Pair], axes: Sequence[str]
) -> Iterator[Row]:
    """Plain conversations have a row as a scenario, and are in no other, unless there is nothing else."""
    every = [one for side in sides for one in side if one.key]
    plain = {one.cell.scenario for one in every if one.control}
    plain = set() if all(one.control for one in every) else plain

    def row(by: str, value: str) -> Row:
        def counts(one: Trial) -> bool:
            kept = by == "scenario" or one.cell.scenario not in plain
            return kept and (not by or getattr(one.cell, by) == value)

        cells = tuple(paired_cells((pair for pair in pairs if counts(pair[0])), *axes))
        sample = None if by == "scenario" else difference(cells, SAMPLE)
        first, second = ([one for one in side if counts(one)] for side in sides)
        return Row(by, value, (first, second), cells, sample, difference(cells, THESE))

    for by in ("", "strategy", "model", "scenario"):
        shown = (one for one in every if by == "scenario" or one.cell.scenario not in plain)
        values = dict.fromkeys(getattr(one.cell, by) if by else "" for one in shown) or {"": None}
        if not by or (len(values) > 1 and by not in axes):
            rows = [row(by, value) for value in values]
            adjusted = holm({one.value: one.shown_difference.p_value for one in rows if one.shown_difference})
            yield from (replace(one, p_holm=adjusted.get(one.value)) for one in rows)
