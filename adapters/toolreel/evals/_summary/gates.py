"""Gates checked on the table of trials: of a plan, or of a comparison.

What is neither shown nor refuted is undecided, with what it would take. So is every gate with runs lacking,
or with too few runs that say something (``min_coverage``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from toolreel._internal import counted as count
from toolreel.evals._statistics import (
    Difference,
    PairedCell,
    adjusted_differences,
    broken,
    difference,
    holm,
    more_to_show,
    scenarios_to_tell,
)
from toolreel.evals._summary.totals import Pair, Total, counted, paired_cells, pairs_of
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core.evals import (
    SAMPLE,
    THESE,
    About,
    EvalPlan,
    Gate,
    Trial,
    gates_of,
)

Standing: TypeAlias = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate."""

    gate: Gate
    standing: Standing
    sentence: str
    """What was asked, what was found and, if it is undecided, why."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What gates are checked on: one evaluation, or two sides of a comparison."""

    second: Sequence[Trial]
    first: Sequence[Trial] | None = None
    """``None``: gates name the two strategies that they compare."""
    compared: tuple[str, ...] = ("strategy",)
    names: tuple[str, str] = ("second", "first")
    k: int = 1
    min_coverage: float = 0.9

    def pairs(self, gate: Gate) -> list[Pair]:
        """The pairs of trials that a gate compares; those without tools only if there are no others."""
        if self.first is None:
            sides = [
                _part_of(self.second, {**gate.part, "strategy": name})
                for name in (gate.against, gate.strategy)
            ]
        else:
            sides = [
                _part_of(self.first, gate.part, self.second),
                _part_of(self.second, gate.part, self.first),
            ]
        first, second = (rows if gate.scenario else counted(rows) for rows in sides)
        return pairs_of(first, second, *self.compared)

    def called(self, gate: Gate) -> tuple[str, str]:
        """What the second side and the first are called, or a part of them."""
        if self.first is None:
            return gate.strategy, gate.against
        part = " ".join(f"{axis} {value}" for axis, value in gate.part.items())
        second, first = (f"{part} of {name}" if part else name for name in self.names)
        return second, first


def _part_of(trials: Iterable[Trial], part: Mapping[str, str], beside: Iterable[Trial] = ()) -> list[Trial]:
    """The trials of a part.

    :param beside: further trials by which a name may be known
    :raises ConfigError: if there is no such part; names what there is
    """
    rows = [*trials]
    for axis, value in part.items():
        known = dict.fromkeys(getattr(one.cell, axis) for one in (*rows, *beside))
        if value not in known:
            raise ConfigError(unknown_name(axis, value, known))
        rows = [one for one in rows if getattr(one.cell, axis) == value]
    return rows


def check_gates(gates: Sequence[Gate], sides: Sides) -> tuple[GateResult, ...]:
    """Check each gate; p-values are adjusted for as many tests as the gates ask for.

    :raises ConfigError: if a gate is about what there is not
    """
    pairs = {gate: sides.pairs(gate) for gate in gates if gate.kind != "figure"}
    cells = {gate: paired_cells(each, *sides.compared) for gate, each in pairs.items()}
    asked = [gate for gate in cells if gate.kind == "no-regression"]
    tested: dict[Gate, dict[About, Difference]] = {gate: {} for gate in asked}
    for about in (SAMPLE, THESE):
        # What is said of these scenarios beside a test about scenarios such as these is adjusted by itself.
        measured = {gate: difference(cells[gate], about) for gate in asked if about in {gate.about, THESE}}
        known = {gate: each for gate, each in measured.items() if each}
        for gate, each in adjusted_differences(known).items():
            tested[gate][about] = each
    found = []
    for gate in gates:
        second, first = sides.called(gate)
        if gate.kind == "figure":
            found.append(_figure(gate, sides))
            continue
        if not cells[gate]:
            asks = f"{second} is compared with {first}, and nothing compares them."
            found.append(GateResult(gate, "undecided", asks))
            continue
        match gate.kind:
            case "margin":
                standing, sentence = _margin(gate, second, first, cells[gate])
            case "no-regression":
                standing, sentence = _regression(gate, second, first, tested[gate])
            case _:
                standing, sentence = _nothing_broke(gate, second, first, cells[gate])
        lacking = sum(
            one.lacking
            or other.lacking
            or ({one.valid, other.valid} == {True, False} and "unsupported" in {one.outcome, other.outcome})
            for one, other in pairs[gate]
        )
        valid = sum(one.valid and other.valid for one, other in pairs[gate])
        result = GateResult(gate, standing, sentence)
        found.append(_complete(result, lacking, valid, len(pairs[gate]), sides.min_coverage))
    return tuple(found)


def overall_standing(results: Iterable[GateResult]) -> Standing:
    """The standing of all gates: failed if one failed, else undecided if one is.

    >>> overall_standing([])
    'passed'
    """
    standings = {one.standing for one in results}
    return "failed" if "failed" in standings else "undecided" if "undecided" in standings else "passed"


def _complete(result: GateResult, lacking: int, valid: int, asked: int, min_coverage: float) -> GateResult:
    """The result, undecided where runs lack or too few of them say something."""
    why = ""
    if lacking:
        why = f"{lacking} {'run is' if lacking == 1 else 'runs are'} missing"
    elif valid < min_coverage * asked - 1e-9:
        share = f"only {valid} of {asked} runs say something ({100 * valid / asked:.0f} %)"
        why = f"{share}, less than min_coverage ({100 * min_coverage:g} %)"
    if not why:
        return replace(result, sentence=f"{result.sentence}.")
    return GateResult(result.gate, "undecided", f"{result.sentence}, but {why}.")


def _figure(gate: Gate, sides: Sides) -> GateResult:
    rows = counted(_part_of(sides.second, gate.part))
    metrics = Total("", tuple(rows), sides.k).metrics
    value, of = metrics[gate.metric], " / ".join(gate.part.values()) or "all runs"
    side = "at least" if gate.sign == ">=" else "at most"
    asked = f"{gate.metric} of {of} has to be {side} {gate.limit:g}"
    if value is None:
        return GateResult(gate, "undecided", f"{asked}, and is not known.")
    holds = value >= gate.limit if gate.sign == ">=" else value <= gate.limit
    planned = [one for one in rows if one.planned]
    found = GateResult(gate, "passed" if holds else "failed", f"{asked}, and is {value:.4g}")
    about_them = gate.metric in {"coverage", "runs", "valid", "fail", "unsupported", "void"}
    valid = len(planned) if about_them else sum(one.valid for one in planned)
    lacking = sum(one.lacking for one in planned)
    return _complete(found, lacking, valid, len(planned), sides.min_coverage)


def _margin(gate: Gate, second: str, first: str, cells: list[PairedCell]) -> tuple[Standing, str]:
    found = cast("Difference", difference(cells, gate.about))
    sentence = (
        f"{second} must be shown to be at most {_points(gate.limit)} worse than {first}: the interval of the "
        f"difference is {_points(found.low)} to {_points(found.high)} for {_kind(gate.about)}"
    )
    if found.low >= -gate.limit:
        return "passed", sentence
    if found.high < -gate.limit:
        return "failed", sentence
    needed = more_to_show(cells, gate.limit, gate.about)
    there, noun = (found.scenarios, "scenarios") if gate.about == SAMPLE else (found.runs, "runs")
    takes = f"more {noun} like these would not show it"
    if needed is not None:
        least = max(needed, there + 1)
        takes = f"it takes about {least} {noun} like these to show so little, and there are {there}"
    return "undecided", f"{sentence}, and {takes}"


def _regression(
    gate: Gate, second: str, first: str, tested: Mapping[About, Difference]
) -> tuple[Standing, str]:
    asked, alone = f"{second} must not be significantly worse than {first}", ""
    found, these = tested[gate.about], tested[THESE]
    if gate.about == SAMPLE:
        alone = f'. On these scenarios alone ("these-scenarios") the difference is {_tested(these)}'
    if found.smallest_p > gate.limit:  # no difference can be significant; this would change it
        among = f" of {found.comparisons} comparisons" if found.comparisons > 1 else ""
        there = count(found.scenarios, "scenario")
        least = scenarios_to_tell(gate.limit, found.comparisons)
        if gate.about == THESE:
            there, more = f"{count(found.runs, 'run')} on {there}", "more trials"
        else:
            more = f"{least} or more"
        return (
            "undecided",
            f"{asked}, and with {there} no difference{among} can reach {gate.limit:g}; {more} can{alone}",
        )
    finding = f"{asked}: the difference is {_tested(found)} for {_kind(gate.about)}"
    finding += f", and the level is {gate.limit:g}"
    if found.difference < 0 and found.p_value <= gate.limit:
        return "failed", finding
    if these.difference < 0 and these.p_value <= gate.limit:
        # No sample of scenarios shows it, but it is no accident of the trials: nothing that may pass.
        return "undecided", f"{finding}{alone}"
    return "passed", finding


def _nothing_broke(gate: Gate, second: str, first: str, cells: list[PairedCell]) -> tuple[Standing, str]:
    asked = f"no scenario that worked under {first} may have broken under {second}"
    names = {place: f"{cell.scenario}, {cell.model}".rstrip(", ") for place, cell in enumerate(cells)}
    found = holm({place: broken(cell) for place, cell in enumerate(cells)})
    fell = [place for place, value in found.items() if value <= gate.limit]
    if fell:
        worst = min(fell, key=lambda place: found[place])
        more = f" and {len(fell) - 1} more" if len(fell) > 1 else ""
        lost = f"{cells[worst].passes[0]} to {cells[worst].passes[1]} of {cells[worst].runs} runs"
        return "failed", f"{asked}: {names[worst]} fell from {lost} (p {_p(found[worst])}, Holm){more}"
    if any(len(cells) * broken(cell.all_lost) > gate.limit for cell in cells):
        weakest = (PairedCell("", "", 0, many, 0, 0) for many in range(1, 1_000))
        trials = next(each.lost for each in weakest if len(cells) * broken(each) <= gate.limit)
        takes = f"it takes {trials} trials of a cell to see one of {len(cells)} break"
        return "undecided", f"{asked}: none is seen to, and {takes}"
    return "passed", f"{asked}: none of {count(len(cells), 'cell')} did"


def _tested(found: Difference) -> str:
    return f"{_points(found.difference)}, p {_p(found.p_value)}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3g}"


def _kind(about: About) -> str:
    return "these scenarios" if about == THESE else "scenarios such as these"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


def plan_results(plan: EvalPlan, trials: Sequence[Trial]) -> tuple[GateResult, ...]:
    """The results of a plan's gates.

    :raises ConfigError: if a gate is about what the plan does not have
    """
    sides = Sides(trials, k=plan.trials, min_coverage=plan.options.min_coverage)
    return check_gates(gates_of(plan.options), sides)


def gate_trees(results: Iterable[GateResult]) -> list[Json]:
    """The results of gates, for machines."""
    return [{"standing": one.standing, "sentence": one.sentence} for one in results]
