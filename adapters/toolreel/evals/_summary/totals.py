"""Totals of the table of trials, candidates told apart, and the answer: who is best, and what is open.

Trials of controls are in no total unless there is nothing else. Tables, pages, files and gates take a rate
and its interval from here, so that the same trials have the same figures everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from toolreel._internal import counted as number
from toolreel.evals._statistics import (
    ALPHA,
    Difference,
    PairedCell,
    Rate,
    adjusted_differences,
    difference,
    pass_hat,
    rate_of,
    scenarios_to_tell,
    wilson_bounds,
)
from toolreel_core.evals import (
    THESE,
    Cell,
    EvalPlan,
    Tally,
    Trial,
    copies,
    harness_percentile,
)

Key = TypeVar("Key", bound=Hashable)
AXES: Final = ("model", "profile", "strategy", "endpoint")
"""What two sides of a comparison can differ in within one evaluation."""


def group_trials(trials: Iterable[Trial], key: Callable[[Trial], Key]) -> dict[Key, list[Trial]]:
    """The trials by something of them, in their order."""
    groups: dict[Key, list[Trial]] = {}
    for one in trials:
        groups.setdefault(key(one), []).append(one)
    return groups


def counted_trials(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that a total is of: those of tool scenarios; where there are none, the controls."""
    given = [*trials]
    return [one for one in given if not one.control] or given


def warning_sentences(trials: Iterable[Trial]) -> Iterator[str]:
    """What readers of the figures have to know: cells that are not what they seem, and copies."""
    made = [one for one in trials if one.key]
    for cell, rows in group_trials(made, lambda one: one.cell).items():
        served = sorted({who for one in rows for who in one.served})
        if len(served) > 1:
            name = ", ".join(filter(None, (cell.model, cell.strategy, cell.endpoint, cell.scenario)))
            yield f"{name}: not always the same model answered: {', '.join(served)}"
    # A model that always does right repeats itself too: only where no trial differs are seeds without effect.
    for (model, endpoint, strategy), rows in group_trials(
        made, lambda one: (one.cell.model, one.cell.endpoint, one.cell.strategy)
    ).items():
        same, repeated = copies(rows)
        if same == repeated > 1:
            name = ", ".join(filter(None, (model, strategy, endpoint)))
            yield (
                f"{name}: all {repeated} repeated trials are copies of an earlier one, reply by reply: the "
                "server seems to ignore seeds. They count as trials in all that is about these scenarios "
                "alone, which is too sure therefore; take what is about scenarios such as these"
            )


@dataclass(frozen=True)
class Total:
    """Several trials, taken together."""

    name: str
    trials: tuple[Trial, ...]
    k: int

    @classmethod
    def of_trials(cls, name: str, trials: Iterable[Trial], k: int) -> Total:
        """The total of some trials."""
        return cls(name, tuple(counted_trials(trials)), k)

    @cached_property
    def tally(self) -> Tally:
        """How they went, and what they used."""
        return Tally.of(self.trials)

    @property
    def rate(self) -> Rate | None:
        """The rate, with its interval; a pass may be unexercised. ``None``: no trial is valid."""
        return rate_of(self.trials)

    @property
    def exercised(self) -> float | None:
        """The rate of passes with the hard part in them."""
        found = rate_of(self.trials, lambda one: one.outcome == "pass")
        return found.rate if found else None

    def percentile_ms(self, percent: int) -> int | None:
        """A percentile of the last attempts of runs that are not void."""
        made = [one.last_attempt_ms for one in self.trials if one.outcome not in {"void", "missing"}]
        return harness_percentile(made, percent) if made else None

    @property
    def metrics(self) -> dict[str, float | None]:
        """What a gate can name."""
        rate, tally = self.rate, self.tally
        return {
            "rate": rate.rate if rate else None,
            "lower_bound": rate.low if rate else None,
            "upper_bound": rate.high if rate else None,
            "exercised_rate": self.exercised,
            "coverage": tally.coverage,
            "pass_at_1": pass_hat(self.trials, 1)[0],
            "pass_hat_k": pass_hat(self.trials, self.k)[0],
            "runs": tally.runs,
            "valid": tally.valid,
            **{name: tally.outcomes[name] for name in ("fail", "unsupported", "void")},
            "p50_ms": self.percentile_ms(50),
            "p95_ms": self.percentile_ms(95),
            "cost": tally.cost,
            "tokens": tally.tokens,
        }


Recommendation: TypeAlias = Literal["yes", "conditional", "no", "undecided"]
"""``conditional``: it works, but its provider refused or failed many runs."""
WORKS: Final = 0.75
"""The pass rate from which on a model works."""
COVERED: Final = 0.95
"""The share of valid runs below which yes becomes conditional."""


def recommendation(trials: Iterable[Trial]) -> Recommendation:
    """Whether a model passes its tool scenarios often enough, under these settings and on these scenarios.

    Wilson's interval of its tool runs decides, and never the rate alone.
    """
    tally = Tally.of(one for one in trials if not one.control)
    if not tally.valid:
        return "no" if tally.outcomes["unsupported"] else "undecided"
    low, high = wilson_bounds(tally.ok, tally.valid)
    if high < WORKS:
        return "no"
    if low < WORKS:
        return "undecided"
    return "yes" if tally.valid >= COVERED * tally.runs else "conditional"


Pair: TypeAlias = tuple[Trial, Trial]


def pairs_of(first: Iterable[Trial], second: Iterable[Trial], *compared: str) -> list[Pair]:
    """The trials of two sides, paired by all axes that are not compared, and by the number of the trial."""

    def task(one: Trial) -> Hashable:
        axes = (axis for axis in (*AXES, "scenario") if axis not in compared)
        return (*(getattr(one.cell, axis) for axis in axes), one.trial)

    others = {task(one): one for one in second}
    return [(one, others[task(one)]) for one in first if task(one) in others]


def paired_cells(pairs: Iterable[Pair], *compared: str) -> list[PairedCell]:
    """A table of pairs for each scenario under each configuration; of valid trials only."""
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
    """Two candidates, such as strategies, on the tasks that both have run."""

    first: str
    second: str
    cells: tuple[PairedCell, ...]
    difference: Difference
    """About scenarios such as these; its p-value is adjusted for all pairs of candidates."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The figures of a summary."""

    whole: Total
    totals: Mapping[str, tuple[Total, ...]]
    """Of ``strategies``, and of ``models``: with the sampling profile, where a model has several."""
    contrasts: Mapping[str, tuple[Contrast, ...]]
    notes: tuple[str, ...]


def findings_of(trials: Sequence[Trial], plan: EvalPlan) -> Findings:
    """The figures of an evaluation."""
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
        groups = group_trials(trials, name_of)
        totals[what] = tuple(Total.of_trials(name, rows, plan.trials) for name, rows in groups.items())
        # Each candidate with each that comes after it in the plan, where they share a valid task.
        cells = {
            (one.name, other.name): paired_cells(pairs_of(one.trials, other.trials, *axes), *axes)
            for one, other in combinations(totals[what], 2)
        }
        measured = {pair: found for pair, each in cells.items() if (found := difference(each))}
        contrasts[what] = tuple(
            Contrast(*pair, tuple(cells[pair]), found)
            for pair, found in adjusted_differences(measured).items()
        )
        scenarios = len({one.cell.scenario for total in totals[what] for one in total.trials if one.key})
        if cells and scenarios < (least := scenarios_to_tell(ALPHA, len(cells))):
            among = f" of {len(cells)} comparisons" if len(cells) > 1 else ""
            notes.append(
                f"{what} are compared on {number(scenarios, 'scenario')}; with fewer than {least}, no "
                f"difference{among} is significant"
            )
    whole = Total.of_trials("all runs", trials, plan.trials)
    return Findings(whole, totals, contrasts, tuple(notes))


_NAMED: Final = 4
"""Candidates that a sentence names; it counts more of them."""


def answer_sentences(findings: Findings) -> tuple[str, ...]:
    """What a reader has to know first: a sentence about models and one about strategies, with their scope."""
    found = tuple(
        sentence
        for one, several in (("model", "models"), ("strategy", "strategies"))
        for sentence in _best_sentences(one, several, findings.totals[several], findings.contrasts[several])
    )
    rate = findings.whole.rate
    return found or (
        f"{100 * rate.rate:.1f} % (95 % interval {rate}) of the tool scenarios pass."
        if rate
        else "No run says anything about a model yet.",
    )


def _best_sentences(
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
    ahead, next_best = "", tuple[PairedCell, ...]()
    if contrast := of_best.get(others[0]):
        turned = contrast.first == best
        next_best = tuple(cell.swapped for cell in contrast.cells) if turned else contrast.cells
    if measured := difference(next_best):
        ahead = f", {100 * measured.difference:+.1f} points over {others[0]} ({_interval_text(measured)})"
    highest = f"{100 * rates[best].rate:.1f} % (95 % interval {rates[best]}){ahead}"
    equals = [name for name in others if p_values[name] > ALPHA]
    if not equals:
        rest = f"the other {len(others)}" if len(others) > 1 else others[0]
        yield (
            f"{best} is the best {one} for scenarios such as these: {highest}; a test separates it from "
            f"{rest} (p {max(p_values.values()):.3g}, Holm)."
        )
        return
    alone, here = "", difference(next_best, THESE) if len(others) == 1 else None
    if here and here.p_value <= ALPHA and here.difference > 0:
        alone = (
            f"; on these {here.scenarios} scenarios alone, {best} is shown to be better "
            f"({_interval_text(here)}, p {here.p_value:.2g})"
        )
    named = ", ".join(equals[:_NAMED]) + (f" and {len(equals) - _NAMED} others" if equals[_NAMED:] else "")
    yield (
        f"Undecided which of the {len(rates)} {several} is best for scenarios such as these: {best} has the "
        f"highest rate, {highest}, but no test separates it from {named} "
        f"(p {min(p_values[name] for name in equals):.3g}, level {ALPHA}, Holm){alone}."
    )


def _interval_text(found: Difference) -> str:
    return f"95 % interval {100 * found.low:+.1f} to {100 * found.high:+.1f}"
