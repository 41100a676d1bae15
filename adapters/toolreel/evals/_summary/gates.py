"""Gates checked on the table of trials: of a plan, or of a comparison.

What is neither shown nor refuted is undecided, with what it would take. So is every gate with runs lacking,
or with too few runs that say something (``min_coverage``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast

from toolreel._internal import ResultsError
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
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.results import Header
from toolreel.evals._summary.totals import Pair, Total, counted, paired_cells, pairs_of
from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table, unknown_name
from toolreel_core._jsontext import Json, canonical
from toolreel_core.evals import (
    SAMPLE,
    THESE,
    About,
    EvalPlan,
    Gate,
    Trial,
    gate_from,
    gates_of,
)

Standing: TypeAlias = Literal["passed", "failed", "undecided"]
LATER: Final = "this gate was set after the runs"


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
    tests = {
        gate: paired_cells(sides.pairs(gate), *sides.compared) for gate in gates if gate.kind != "figure"
    }
    asked = [gate for gate in tests if gate.kind == "no-regression"]
    found: dict[tuple[Gate, About], Difference] = {}
    for about in (SAMPLE, THESE):
        # What is said of these scenarios beside a test about scenarios such as these is adjusted by itself.
        measured = {gate: difference(tests[gate], about) for gate in asked if about in {gate.about, THESE}}
        kept = {gate: each for gate, each in measured.items() if each}
        found |= {(gate, about): each for gate, each in adjusted_differences(kept).items()}
    return tuple(_checked(gate, sides, tests.get(gate, []), found) for gate in gates)


def overall_standing(results: Iterable[GateResult]) -> Standing:
    """The standing of all gates: failed if one failed, else undecided if one is.

    >>> overall_standing([])
    'passed'
    """
    standings = {one.standing for one in results}
    return "failed" if "failed" in standings else "undecided" if "undecided" in standings else "passed"


def _checked(
    gate: Gate, sides: Sides, cells: list[PairedCell], tested: Mapping[tuple[Gate, About], Difference]
) -> GateResult:
    if gate.kind == "figure":
        return _figure(gate, sides)
    pairs = sides.pairs(gate)
    second, first = sides.called(gate)
    if not cells:
        asked = f"{second} is compared with {first}"
        return GateResult(gate, "undecided", f"{asked}, and nothing compares them.")
    match gate.kind:
        case "margin":
            standing, sentence = _margin(gate, second, first, cells)
        case "no-regression":
            about: dict[About, Difference] = {
                each: found for (of, each), found in tested.items() if of == gate
            }
            standing, sentence = _regression(gate, second, first, about)
        case _:
            standing, sentence = _nothing_broke(gate, second, first, cells)
    lacking = sum(
        one.lacking
        or other.lacking
        or ({one.valid, other.valid} == {True, False} and "unsupported" in {one.outcome, other.outcome})
        for one, other in pairs
    )
    valid = sum(one.valid and other.valid for one, other in pairs)
    return _complete(GateResult(gate, standing, sentence), lacking, valid, len(pairs), sides)


def _complete(result: GateResult, lacking: int, valid: int, asked: int, sides: Sides) -> GateResult:
    """The result, undecided where runs lack or too few of them say something."""
    if lacking:
        are = "run is" if lacking == 1 else "runs are"
        why = f"but {lacking} {are} missing"
    elif valid < sides.min_coverage * asked - 1e-9:
        share = f"{valid} of {asked} runs say something ({100 * valid / asked:.0f} %)"
        why = f"but only {share}, less than min_coverage ({100 * sides.min_coverage:g} %)"
    else:
        return replace(result, sentence=f"{result.sentence}.")
    return GateResult(result.gate, "undecided", f"{result.sentence}, {why}.")


def _figure(gate: Gate, sides: Sides) -> GateResult:
    rows = counted(_part_of(sides.second, gate.part))
    metrics = {**Total("", tuple(rows), sides.k).metrics, **_beside(gate, sides)}
    if gate.metric not in metrics:
        raise ConfigError(unknown_name("metric", gate.metric, metrics))
    value = metrics[gate.metric]
    of = " / ".join(gate.part.values()) or "all runs"
    side = "at least" if gate.sign == ">=" else "at most"
    asked = f"{gate.metric} of {of} has to be {side} {gate.limit:g}"
    if value is None:
        return GateResult(gate, "undecided", f"{asked}, and is not known.")
    holds = value >= gate.limit if gate.sign == ">=" else value <= gate.limit
    planned = [one for one in rows if one.planned]
    found = GateResult(gate, "passed" if holds else "failed", f"{asked}, and is {value:.4g}")
    about_them = gate.metric in {"coverage", "runs", "valid", "fail", "unsupported", "void"}
    valid = len(planned) if about_them else sum(one.valid for one in planned)
    return _complete(found, sum(one.lacking for one in planned), valid, len(planned), sides)


def _beside(gate: Gate, sides: Sides) -> dict[str, float | None]:
    """How the second side differs from the first, as metrics."""
    if sides.first is None:
        return {}
    cells = paired_cells(sides.pairs(gate), *sides.compared)
    found = difference(cells, THESE if gate.scenario else SAMPLE)
    return {
        "difference": found.difference if found else None,
        "difference_low": found.low if found else None,
        "gained": sum(cell.gained for cell in cells),
        "lost": sum(cell.lost for cell in cells),
    }


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
    if needed is None:
        takes = f"more {noun} like these would not show it"
    else:
        takes = f"it takes about {max(needed, there + 1)} {noun} like these to show so little"
        takes += f", and there are {there}"
    return "undecided", f"{sentence}, and {takes}"


def _regression(
    gate: Gate, second: str, first: str, tested: Mapping[About, Difference]
) -> tuple[Standing, str]:
    asked, found, these = (
        f"{second} must not be significantly worse than {first}",
        tested[gate.about],
        tested[THESE],
    )
    alone = (
        f'. On these scenarios alone ("these-scenarios") the difference is {_tested(these)}'
        if gate.about == SAMPLE
        else ""
    )
    if found.smallest_p > gate.limit:
        return "undecided", f"{asked}, and {_too_few(found, gate.limit)}{alone}"
    finding = f"{asked}: the difference is {_tested(found)} for {_kind(gate.about)}"
    finding += f", and the level is {gate.limit:g}"
    if found.difference < 0 and found.p_value <= gate.limit:
        return "failed", finding
    if these.difference < 0 and these.p_value <= gate.limit:
        # No sample of scenarios shows it, but it is no accident of the trials: nothing that may pass.
        return "undecided", f"{finding}{alone}"
    return "passed", finding


def _too_few(found: Difference, alpha: float) -> str:
    """Why no difference can be significant, and what would change that."""
    among = f" of {found.comparisons} comparisons" if found.comparisons > 1 else ""
    if found.about == THESE:
        trials = f"{_counted(found.runs, 'run')} on {_counted(found.scenarios, 'scenario')}"
        return f"with {trials} no difference{among} can reach {alpha:g}; more trials can"
    least = scenarios_to_tell(alpha, found.comparisons)
    there = _counted(found.scenarios, "scenario")
    if found.scenarios >= least:
        return (
            f"with {there} on {found.models} models no difference{among} can reach {alpha:g}; more models can"
        )
    return f"with {there} no difference{among} can reach {alpha:g}; {least} or more can"


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
    weak = [cell for cell in cells if len(cells) * broken(cell.all_lost) > gate.limit]
    if weak:
        trials = next(
            many
            for many in range(1, 1_000)
            if len(cells) * broken(PairedCell("", "", 0, many, 0, 0)) <= gate.limit
        )
        takes = f"it takes {trials} trials of a cell to see one of {len(cells)} break"
        return "undecided", f"{asked}: none is seen to, and {takes}"
    return "passed", f"{asked}: none of {_counted(len(cells), 'cell')} did"


def _tested(found: Difference) -> str:
    return f"{_points(found.difference)}, p {_p(found.p_value)}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3g}"


def _kind(about: About) -> str:
    return "these scenarios" if about == THESE else "scenarios such as these"


def _counted(many: int, noun: str) -> str:
    return f"{many} {noun}{'' if many == 1 else 's'}"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


def plan_results(plan: EvalPlan, trials: Sequence[Trial], header: Header) -> tuple[GateResult, ...]:
    """The results of a plan's gates, each of which says so if it was set after the runs.

    :raises ConfigError: if a gate is about what the plan does not have
    """
    gates = gates_of(plan.options)
    late = gates_set_later(gates, header)
    sides = Sides(trials, k=plan.trials, min_coverage=plan.options.min_coverage)
    return tuple(
        replace(one, sentence=f"{one.sentence.removesuffix('.')}; {LATER}") if one.gate in late else one
        for one in check_gates(gates, sides)
    )


def gates_set_later(gates: Iterable[Gate], header: Header) -> tuple[Gate, ...]:
    """The gates that are not in the plan under which the first run was made."""
    first = next((each.plan for each in header.earlier if each.records), header.plan)
    options = first.get("options")
    trees = options.get("gate", []) if isinstance(options, Mapping) else []
    try:
        before = (
            [gate_from(Table.of(tree, "gate")) for tree in trees] if isinstance(trees, list | tuple) else []
        )
    except ConfigError as error:
        raise ResultsError(f"the gates of an earlier plan cannot be read: {error}") from None
    return tuple(gate for gate in gates if gate not in before)


_UNREMARKABLE: Final = ("eval.jobs", "eval.verbosity")
"""Settings that decide about no figure."""


def plan_changes(header: Header) -> tuple[str, ...]:
    """What was changed in the plan after the first run, in a sentence; none if nothing was.

    A setting that was changed and changed back is named too, since runs were made under it.
    """
    made_under = [each for each in header.earlier if each.records]
    plans = [
        canonical(tree.get("options", {})) for tree in (*(each.plan for each in made_under), header.plan)
    ]
    lines = (line for plan in plans[1:] for line in configuration_differences(plans[0], plan))
    named = [
        place
        for place in dict.fromkeys(line.partition(":")[0] for line in lines)
        if place not in _UNREMARKABLE
    ]
    if not named:
        return ()
    return (f"The plan was changed after the first run (last: {header.since}): {', '.join(named)}.",)


def gate_trees(results: Iterable[GateResult]) -> list[Json]:
    """The results of gates, for machines."""
    return [{"standing": one.standing, "sentence": one.sentence} for one in results]
