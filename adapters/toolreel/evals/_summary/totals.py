"""Totals of the table of trials, candidates told apart, the answer, and comparisons of two sides.

Trials of controls are in no total unless there is nothing else. Tables, pages, files and gates take a rate
and its interval from here, so that the same trials have the same figures everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from toolreel._internal import count_with_noun as number
from toolreel.evals._results import Results
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import (
    ALPHA,
    PairedCell,
    Rate,
    RateDifference,
    adjusted_differences,
    fewest_significant_scenarios,
    group_by_key,
    holm,
    paired_rate_difference,
    pass_hat,
    rate_of,
    wilson_bounds,
)
from toolreel_core._config_checks import unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core.evals import (
    SAMPLE,
    THESE,
    Cell,
    EvalPlan,
    Trial,
    TrialTally,
    count_repeated_replies,
    incompleteness_sentence,
    percentile_as_in_harness,
    tree_changes,
)

AXES = ("model", "profile", "strategy", "endpoint")
"""What two sides of a comparison can differ in within one evaluation."""


def tool_trials_or_controls(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that a total is of: those of tool scenarios; where there are none, the controls."""
    tools, controls = tool_and_control_trials(trials)
    return tools or controls


def tool_and_control_trials(trials: Iterable[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Trials of tool scenarios, and those of plain conversations."""
    parts = group_by_key(trials, lambda one: one.control)
    return parts.get(False, []), parts.get(True, [])


def warning_sentences(trials: Iterable[Trial]) -> Iterator[str]:
    """What readers of the figures have to know: which trials are copies of others."""
    # A model that always does right repeats itself too: only where no trial differs are seeds without effect.
    groups = group_by_key(trials, lambda one: (one.cell.model, one.cell.strategy, one.cell.endpoint))
    for names, rows in groups.items():
        same, repeated = count_repeated_replies(rows)
        if same == repeated > 1:
            name = ", ".join(filter(None, names))
            yield (
                f"{name}: all {repeated} repeated trials are copies of an earlier one, reply by reply: the "
                "server seems to ignore seeds. They count as trials in all that is about these scenarios "
                "alone, which is too sure therefore; take what is about scenarios such as these"
            )


@dataclass(frozen=True)
class Total:
    name: str
    trials: tuple[Trial, ...]
    k: int

    @classmethod
    def of_trials(cls, name: str, trials: Iterable[Trial], k: int) -> Total:
        return cls(name, tuple(tool_trials_or_controls(trials)), k)

    @cached_property
    def tally(self) -> TrialTally:
        return TrialTally.of(self.trials)

    @cached_property
    def rate(self) -> Rate | None:
        """The rate, with its interval; a pass may be unexercised. ``None``: no trial is valid."""
        return rate_of(self.trials)

    @property
    def metrics(self) -> dict[str, float | None]:
        """By the names that gates have for them; ``None``: not known."""
        rate, tally = self.rate, self.tally
        exercised = rate_of(self.trials, lambda one: one.outcome == "pass")
        # Times are those of the last attempts of runs that are not void.
        ms = [one.last_attempt_ms for one in self.trials if one.outcome not in {"void", "missing"}]
        return {
            "rate": rate.rate if rate else None,
            "lower_bound": rate.low if rate else None,
            "upper_bound": rate.high if rate else None,
            "exercised_rate": exercised.rate if exercised else None,
            "coverage": tally.coverage,
            "pass_at_1": pass_hat(self.trials, 1)[0],
            "pass_hat_k": pass_hat(self.trials, self.k)[0],
            "runs": tally.runs,
            "valid": tally.valid,
            **{name: tally.outcomes[name] for name in ("fail", "unsupported", "void")},
            **{f"p{at}_ms": percentile_as_in_harness(ms, at) if ms else None for at in (50, 95)},
            "cost": tally.cost,
            "tokens": tally.tokens,
        }


Suitability: TypeAlias = Literal["yes", "conditional", "no", "undecided"]
"""``conditional``: it works, but its provider refused or failed many runs."""
WORKS = 0.75
"""The pass rate from which on a model works."""
COVERED = 0.95
"""The share of valid runs below which yes becomes conditional."""


def recommendation(trials: Iterable[Trial]) -> Suitability:
    """Whether a model passes its tool scenarios often enough, under these settings and on these scenarios.

    Wilson's interval of its tool runs decides, and never the rate alone.
    """
    tally = TrialTally.of(one for one in trials if not one.control)
    if not tally.valid:
        return "no" if tally.outcomes["unsupported"] else "undecided"
    low, high = wilson_bounds(tally.ok, tally.valid)
    if high < WORKS:
        return "no"
    if low < WORKS:
        return "undecided"
    return "yes" if tally.valid >= COVERED * tally.runs else "conditional"


TrialPair: TypeAlias = tuple[Trial, Trial]


def paired_trials(first: Iterable[Trial], second: Iterable[Trial], *compared: str) -> list[TrialPair]:
    """The trials of two sides, paired by all axes that are not compared, and by the number of the trial."""

    def task(one: Trial) -> Hashable:
        axes = (axis for axis in (*AXES, "scenario") if axis not in compared)
        return (*(getattr(one.cell, axis) for axis in axes), one.trial)

    others = {task(one): one for one in second}
    return [(one, others[task(one)]) for one in first if task(one) in others]


def paired_cells(pairs: Iterable[TrialPair], *compared: str) -> list[PairedCell]:
    cells: dict[Cell, Counter[tuple[bool, bool]]] = {}
    for one, other in pairs:
        if one.valid and other.valid:
            cells.setdefault(one.cell, Counter())[one.ok, other.ok] += 1
    places = ((True, True), (True, False), (False, True), (False, False))
    return [
        PairedCell(cell.scenario, "" if "model" in compared else cell.model, *(seen[at] for at in places))
        for cell, seen in cells.items()
    ]


class Contrast(NamedTuple):
    first: str
    second: str
    cells: tuple[PairedCell, ...]
    difference: RateDifference
    """About scenarios such as these; its p-value is adjusted for all pairs of candidates."""


@dataclass(frozen=True, slots=True)
class Findings:
    whole: Total
    totals: Mapping[str, tuple[Total, ...]]
    """Of ``strategies``, and of ``models``: with the sampling profile, where a model has several."""
    contrasts: Mapping[str, tuple[Contrast, ...]]
    notes: tuple[str, ...]


def findings_of(trials: Sequence[Trial], plan: EvalPlan) -> Findings:
    several = {model for model, profiles in plan.profiles.items() if len(profiles) > 1}

    def candidate(one: Trial) -> str:
        cell = one.cell
        return f"{cell.model}:{cell.profile}" if cell.model in several else cell.model

    kinds: tuple[tuple[str, tuple[str, ...], Callable[[Trial], str]], ...] = (
        ("strategies", ("strategy",), lambda one: one.cell.strategy),
        ("models", ("model", "profile"), candidate),
    )
    totals, contrasts = dict[str, tuple[Total, ...]](), dict[str, tuple[Contrast, ...]]()
    notes = list[str]()
    for what, axes, name_of in kinds:
        groups = group_by_key(trials, name_of)
        totals[what] = tuple(Total.of_trials(name, rows, plan.trials) for name, rows in groups.items())
        # Each candidate with each that comes after it in the plan, where they share a valid task.
        cells = {
            (one.name, other.name): paired_cells(paired_trials(one.trials, other.trials, *axes), *axes)
            for one, other in combinations(totals[what], 2)
        }
        measured = {pair: found for pair, each in cells.items() if (found := paired_rate_difference(each))}
        contrasts[what] = tuple(
            Contrast(*pair, tuple(cells[pair]), found)
            for pair, found in adjusted_differences(measured).items()
        )
        scenarios = len({one.cell.scenario for total in totals[what] for one in total.trials if one.key})
        if cells and scenarios < (least := fewest_significant_scenarios(ALPHA, len(cells))):
            among = f" of {len(cells)} comparisons" if len(cells) > 1 else ""
            notes.append(
                f"{what} are compared on {number(scenarios, 'scenario')}; with fewer than {least}, no "
                f"difference{among} is significant"
            )
    whole = Total.of_trials("all runs", trials, plan.trials)
    return Findings(whole, totals, contrasts, tuple(notes))


_NAMED = 4
"""Candidates that a sentence names; it counts more of them."""


def headline_sentences(findings: Findings) -> tuple[str, ...]:
    """What a reader has to know first: a sentence about models and one about strategies, with their scope."""
    found = tuple(
        sentence
        for one, several in (("model", "models"), ("strategy", "strategies"))
        for sentence in _sentences_about_best(
            one, several, findings.totals[several], findings.contrasts[several]
        )
    )
    rate = findings.whole.rate
    return found or (
        f"{100 * rate.rate:.1f} % (95 % interval {rate}) of the tool scenarios pass."
        if rate
        else "No run says anything about a model yet.",
    )


def _sentences_about_best(
    one: str, several: str, totals: Iterable[Total], contrasts: Iterable[Contrast]
) -> Iterator[str]:
    rates = {total.name: total.rate for total in totals if total.rate}
    if len(rates) < 2:
        return
    best, *others = sorted(rates, key=lambda name: (-rates[name].rate, name))
    of_best = {
        each.first if each.second == best else each.second: each for each in contrasts if best in each[:2]
    }
    p_values = {name: of_best[name].difference.p_value if name in of_best else 1.0 for name in others}
    # By how much, on the tasks that both have.
    ahead, sign, here = "", 1, None
    if contrast := of_best.get(others[0]):
        sign = -1 if contrast.first == best else 1
        points, interval = _difference_and_interval_texts(contrast.difference, sign)
        ahead = f", {points} points over {others[0]} ({interval})"
        here = paired_rate_difference(contrast.cells, THESE) if len(others) == 1 else None
    highest = f"{100 * rates[best].rate:.1f} % (95 % interval {rates[best]}){ahead}"
    equals = [name for name in others if p_values[name] > ALPHA]
    if not equals:
        rest = f"the other {len(others)}" if len(others) > 1 else others[0]
        yield (
            f"{best} is the best {one} for scenarios such as these: {highest}; a test separates it from "
            f"{rest} (p {max(p_values.values()):.3g}, Holm)."
        )
        return
    alone = ""
    if here and here.p_value <= ALPHA and sign * here.difference > 0:
        _, interval = _difference_and_interval_texts(here, sign)
        alone = (
            f"; on these {here.scenarios} scenarios alone, {best} is shown to be better "
            f"({interval}, p {here.p_value:.2g})"
        )
    named = ", ".join(equals[:_NAMED]) + (f" and {len(equals) - _NAMED} others" if equals[_NAMED:] else "")
    yield (
        f"Undecided which of the {len(rates)} {several} is best for scenarios such as these: {best} has the "
        f"highest rate, {highest}, but no test separates it from {named} "
        f"(p {min(p_values[name] for name in equals):.3g}, level {ALPHA}, Holm){alone}."
    )


def _difference_and_interval_texts(found: RateDifference, sign: int) -> tuple[str, str]:
    low, high = sorted((100 * sign * found.low, 100 * sign * found.high))
    # Adding 0.0 turns -0.0 into 0.0, which prints as +0.0.
    return f"{100 * sign * found.difference + 0.0:+.1f}", f"95 % interval {low:+.1f} to {high:+.1f}"


Flip: TypeAlias = Literal["gained", "lost"]


@dataclass(frozen=True, slots=True)
class Row:
    axis: str
    """What groups are made by; empty for all tool runs."""
    value: str
    trials: tuple[Sequence[Trial], Sequence[Trial]]
    cells: tuple[PairedCell, ...]
    sample: RateDifference | None
    """About scenarios such as these; ``None`` for the row of a scenario, or without a pair."""
    these: RateDifference | None
    p_holm: float | None = None
    """The p-value, adjusted for all groups of this axis."""

    @property
    def difference_in_tables(self) -> RateDifference | None:
        """The one that tables show: about scenarios such as these, if there is more than one."""
        return self.sample if self.sample and self.sample.scenarios > 1 else self.these

    @property
    def pair_counts(self) -> dict[str, int]:
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
    pairs: tuple[TrialPair, ...]
    rows: tuple[Row, ...]
    """That of all tool runs first."""
    plans: tuple[EvalPlan, EvalPlan]
    headers: tuple[str, ...]
    """How the plans and versions of two evaluations differ, a line each."""

    @property
    def incomplete(self) -> str:
        """What lacks, in a sentence; empty if nothing."""
        first, second = self.sides
        # Within one evaluation, its share of void runs is that of both sides.
        wholes = [(*first, *second)] if self.plans[0] is self.plans[1] else [first, second]
        lacks = (incompleteness_sentence(whole, self.plans[1].options.min_coverage) for whole in wholes)
        return next(filter(None, lacks), "")

    @property
    def valid_pairs(self) -> list[TrialPair]:
        """The pairs of which both say something about the model."""
        return [(one, two) for one, two in self.pairs if one.valid and two.valid]

    @property
    def unpaired(self) -> tuple[int, int]:
        """Number of runs of each side that have no partner."""
        first, second = (sum(bool(one.key) for one in side) - len(self.pairs) for side in self.sides)
        return first, second

    def flips(self, kind: Flip) -> list[TrialPair]:
        """The pairs of which the second passed and the first did not, or the other way round."""
        return [
            (one, two) for one, two in self.valid_pairs if one.ok != two.ok and two.ok == (kind == "gained")
        ]


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
        names, groups = [*others], group_by_key(tables[0], lambda one: str(getattr(one.cell, by)))
        for value in names:
            if value not in groups:
                raise ConfigError(f"{opened[0].path}: {unknown_name_message(by, value, groups)}")
        tables = [tuple(groups[value]) for value in names]
    sides = tables[0], tables[1]
    for axis in () if by else AXES:
        one, other = ({getattr(each.cell, axis) for each in side} for side in sides)
        axes += (axis,) if len(one) == len(other) == 1 and one != other else ()
    pairs = [pair for pair in paired_trials(*sides, *axes) if pair[0].key and pair[1].key]
    if not pairs:
        raise ConfigError("no run of the one has the same task and trial as a run of the other")
    headers = [canonical(replace(each.header, created="").tree()) for each in opened]
    return Comparison(
        *(names[0], names[1]),
        axes,
        sides,
        tuple(pairs),
        tuple(_rows_of_compared_pairs(sides, pairs, axes)),
        (plans[0], plans[-1]),
        tree_changes(headers[0], headers[-1]),
    )


def _rows_of_compared_pairs(
    sides: tuple[Sequence[Trial], Sequence[Trial]], pairs: Sequence[TrialPair], axes: Sequence[str]
) -> Iterator[Row]:
    """The rows of a comparison; controls are only in those by scenario, unless there is nothing else."""
    made = [[one for one in side if one.key] for side in sides]
    nothing_else = all(one.control for side in made for one in side)

    def rows_by(by: str) -> list[Row]:
        def counts(one: Trial) -> bool:
            return by == "scenario" or nothing_else or not one.control

        def value_of(one: Trial) -> str:
            return getattr(one.cell, by) if by else ""

        first, second = (group_by_key(filter(counts, side), value_of) for side in made)
        paired = group_by_key((pair for pair in pairs if counts(pair[0])), lambda pair: value_of(pair[0]))
        rows = []
        for value in dict.fromkeys((*first, *second)) if by else [""]:
            cells = tuple(paired_cells(paired.get(value, ()), *axes))
            sample = None if by == "scenario" else paired_rate_difference(cells, SAMPLE)
            trials = first.get(value, []), second.get(value, [])
            rows.append(Row(by, value, trials, cells, sample, paired_rate_difference(cells, THESE)))
        return rows

    for by in ("", "strategy", "model", "scenario"):
        rows = [] if by in axes else rows_by(by)
        if len(rows) > 1 or not by:
            adjusted = holm(
                {one.value: one.difference_in_tables.p_value for one in rows if one.difference_in_tables}
            )
            yield from (replace(one, p_holm=adjusted.get(one.value)) for one in rows)
