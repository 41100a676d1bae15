"""Gates checked on the table of trials: of a plan, or of a comparison.

What is neither shown nor refuted is undecided, with what it would take. So is every gate with runs lacking,
or with too few runs that say something (``min_coverage``).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias, cast

from toolreel._internal import count_with_noun as count
from toolreel.evals._results import trials_in
from toolreel.evals._statistics import (
    SPREAD,
    WITHIN,
    PairedCell,
    RateDifference,
    adjusted_differences,
    detectable_difference,
    fewest_significant_scenarios,
    holm,
    p_value_of_break,
    paired_rate_difference,
    runs_to_show_margin,
)
from toolreel.evals._summary.totals import (
    Total,
    TrialPair,
    paired_cells,
    paired_trials,
    tool_trials_or_controls,
)
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

    standing: Standing
    sentence: str
    """What was asked, what was found and, if it is undecided, why."""


@dataclass(frozen=True, slots=True)
class Sides:
    second: Sequence[Trial]
    first: Sequence[Trial] | None = None
    """``None``: gates name the two strategies that they compare."""
    compared: tuple[str, ...] = ("strategy",)
    names: tuple[str, str] = ("second", "first")
    k: int = 1
    min_coverage: float = 0.9

    def pairs(self, gate: Gate) -> list[TrialPair]:
        """The pairs of trials that a gate compares; those without tools only if there are no others."""
        first, second = self.first, self.second
        if first is None:
            first, second = (
                _trials_of_part(second, {**gate.part, "strategy": each})
                for each in self.side_names(gate)[::-1]
            )
        if not gate.scenario:
            first, second = tool_trials_or_controls(first), tool_trials_or_controls(second)
        return paired_trials(first, second, *self.compared)

    def side_names(self, gate: Gate) -> tuple[str, str]:
        return self.names if self.first is not None else (gate.strategy, gate.against)


def _trials_of_part(trials: Sequence[Trial], part: Mapping[str, str]) -> list[Trial]:
    return [one for one in trials if all(getattr(one.cell, axis) == value for axis, value in part.items())]


def check_gates(gates: Sequence[Gate], sides: Sides) -> tuple[GateResult, ...]:
    """Check each gate; p-values are adjusted for as many tests as the gates ask for."""
    pairs = {gate: sides.pairs(gate) for gate in gates if gate.kind != "figure"}
    cells = {gate: paired_cells(each, *sides.compared) for gate, each in pairs.items()}
    tests = [gate for gate in cells if gate.kind == "no-regression"]

    def adjusted(about: About) -> Mapping[Gate, RateDifference]:
        # Tests about scenarios such as these are adjusted apart from what is said about these scenarios.
        measured = {
            gate: paired_rate_difference(cells[gate], about) for gate in tests if about in {gate.about, THESE}
        }
        return adjusted_differences({gate: each for gate, each in measured.items() if each})

    sample, these = adjusted(SAMPLE), adjusted(THESE)

    def judged(gate: Gate) -> GateResult:
        if gate.kind == "figure":
            return _judge_metric_gate(gate, sides)
        second, first = sides.side_names(gate)
        if not cells[gate]:
            return GateResult("undecided", f"{second} is compared with {first}, and nothing compares them.")
        match gate.kind:
            case "margin":
                result = _judge_margin(gate, second, first, cells[gate])
            case "no-regression":
                result = _judge_regression(gate, second, first, sample.get(gate), these[gate])
            case _:
                result = _judge_nothing_broke(gate, second, first, cells[gate])
        lacking = sum(
            one.lacking
            or other.lacking
            or (one.valid != other.valid and "unsupported" in {one.outcome, other.outcome})
            for one, other in pairs[gate]
        )
        valid = sum(one.valid and other.valid for one, other in pairs[gate])
        return _result_given_coverage(*result, lacking, valid, len(pairs[gate]), sides.min_coverage)

    return tuple(map(judged, gates))


def _result_given_coverage(
    standing: Standing, sentence: str, lacking: int, valid: int, asked: int, min_coverage: float
) -> GateResult:
    if lacking:
        why = f"{lacking} {'run is' if lacking == 1 else 'runs are'} missing"
    # Less a rounding error, as in `incompleteness_sentence`.
    elif valid < min_coverage * asked - 1e-9:
        share = f"only {valid} of {asked} runs say something ({100 * valid / asked:.0f} %)"
        why = f"{share}, less than min_coverage ({100 * min_coverage:g} %)"
    else:
        return GateResult(standing, f"{sentence}.")
    return GateResult("undecided", f"{sentence}, but {why}.")


def _judge_metric_gate(gate: Gate, sides: Sides) -> GateResult:
    rows = tool_trials_or_controls(_trials_of_part(sides.second, gate.part))
    value = Total("", tuple(rows), sides.k).metrics[gate.metric]
    if value is None or not rows:
        return GateResult("undecided", f"{gate}: it is not known.")
    holds = value >= gate.limit if gate.sign == ">=" else value <= gate.limit
    about_them = gate.metric in {"coverage", "runs", "valid", "fail", "unsupported", "void"}
    valid = len(rows) if about_them else sum(one.valid for one in rows)
    lacking = sum(one.lacking for one in rows)
    standing: Standing = "passed" if holds else "failed"
    return _result_given_coverage(
        standing, f"{gate}: it is {value:.4g}", lacking, valid, len(rows), sides.min_coverage
    )


def _judge_margin(gate: Gate, second: str, first: str, cells: list[PairedCell]) -> tuple[Standing, str]:
    found = cast("RateDifference", paired_rate_difference(cells, gate.about))
    low, high, limit = (f"{100 * share:.3g} points" for share in (found.low, found.high, gate.limit))
    sentence = (
        f"{second} must be shown to be at most {limit} worse than {first}: the interval of the difference is "
        f"{low} to {high} for {gate.about.replace('-', ' ')}"
    )
    if found.low >= -gate.limit:
        return "passed", sentence
    if found.high < -gate.limit:
        return "failed", sentence
    needed = runs_to_show_margin(cells, gate.limit, gate.about)
    there, noun = (found.scenarios, "scenarios") if gate.about == SAMPLE else (found.runs, "runs")
    takes = f"more {noun} like these would not show it"
    if needed is not None:
        least = max(needed, there + 1)
        takes = f"it takes about {least} {noun} like these to show so little, and there are {there}"
    return "undecided", f"{sentence}, and {takes}"


def _judge_regression(
    gate: Gate, second: str, first: str, sample: RateDifference | None, these: RateDifference
) -> tuple[Standing, str]:
    asked, found = f"{second} must not be significantly worse than {first}", sample or these
    alone = f'. On these scenarios alone ("these-scenarios") the difference is {_difference_text(these)}'
    alone = alone if sample else ""
    if found.smallest_p > gate.limit:  # no difference can be significant; this would change it
        among = f" of {found.comparisons} comparisons" if found.comparisons > 1 else ""
        there, more = count(found.scenarios, "scenario"), "more trials"
        if sample:
            more = f"{fewest_significant_scenarios(gate.limit, found.comparisons)} or more"
        else:
            there = f"{count(found.runs, 'run')} on {there}"
        why = f"with {there} no difference{among} can reach {gate.limit:g}; {more} can{alone}"
        return "undecided", f"{asked}, and {why}"
    finding = f"{asked}: the difference is {_difference_text(found)} for {gate.about.replace('-', ' ')}"
    finding += f", and the level is {gate.limit:g}"
    if found.difference < 0 and found.p_value <= gate.limit:
        return "failed", finding
    if these.difference < 0 and these.p_value <= gate.limit:
        # No sample of scenarios shows it, but it is not an accident of the trials: nothing that may pass.
        return "undecided", f"{finding}{alone}"
    return "passed", finding


def _judge_nothing_broke(
    gate: Gate, second: str, first: str, cells: list[PairedCell]
) -> tuple[Standing, str]:
    asked = f"no scenario that worked under {first} may have broken under {second}"
    values = holm({place: p_value_of_break(cell) for place, cell in enumerate(cells)})
    broken = sorted((value, place) for place, value in values.items() if value <= gate.limit)
    if broken:
        value, cell = broken[0][0], cells[broken[0][1]]
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        name = f"{cell.scenario}, {cell.model}".rstrip(", ")
        lost = f"{cell.passes[0]} to {cell.passes[1]} of {cell.runs} runs"
        return "failed", f"{asked}: {name} fell from {lost} (p {_p_value_text(value)}, Holm){more}"
    if any(len(cells) * p_value_of_break(cell.with_all_runs_lost) > gate.limit for cell in cells):
        weakest = (PairedCell("", "", 0, many, 0, 0) for many in range(1, 1_000))
        trials = next(each.lost for each in weakest if len(cells) * p_value_of_break(each) <= gate.limit)
        takes = f"it takes {trials} trials of a cell to see one of {len(cells)} break"
        return "undecided", f"{asked}: none is seen to, and {takes}"
    return "passed", f"{asked}: none of {count(len(cells), 'cell')} did"


def _difference_text(found: RateDifference) -> str:
    return f"{100 * found.difference:+.3g} points, p {_p_value_text(found.p_value)}"


def _p_value_text(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3g}"


def plan_results(plan: EvalPlan, trials: Sequence[Trial]) -> tuple[GateResult, ...]:
    """The results of a plan's gates; one about what the plan does not have is undecided."""
    sides = Sides(trials, k=plan.trials, min_coverage=plan.options.min_coverage)
    return check_gates(gates_of(plan.options), sides)


def gate_trees(results: Iterable[GateResult]) -> list[Json]:
    return [asdict(one) for one in results]


# What a plan can show before it is run: the smallest difference, and the fate of each gate.
#
# Gates are judged on drawn tables of trials, by the code that judges them on real ones.


_RATE = (8.5, 1.5)
"""Parameters of the beta distribution of rates that nobody knows yet: 85 % on average."""
_ROWS = 40_000
"""Trials that are drawn in all, in at most 100 tables."""


def power_sentence(plan: EvalPlan) -> str:
    """Which difference comparisons of a plan can show with a power of 80 % at a level of 5 %.

    What is compared are its strategies; its models, if there is one strategy; or else a later evaluation.
    """
    scenarios = sum(not scenario.control for scenario in plan.scenarios)
    if not scenarios:
        return "no tool scenario, so nothing to compare"
    by_model = len(plan.strategies) == 1 and len(plan.models) > 1
    pairs = plan.count // len(plan.scenarios) // (len(plan.models) if by_model else len(plan.strategies))
    found = detectable_difference(scenarios, pairs)
    there = f"with {count(scenarios, 'scenario')} of {count(pairs, 'pair')} each"
    if found is None:
        scenarios = max(2 * fewest_significant_scenarios(), scenarios + 1)
        there += f", nothing can be seen, however many trials they have; with {scenarios} scenarios"
        found = detectable_difference(scenarios, pairs) or 1
    return (
        f"{there}, differences of about {100 * found:.0f} points can be seen (for scenarios such as these; "
        f"power 80 %, level 5 %, if differences vary by {100 * SPREAD:.0f} points among scenarios, and "
        f"{100 * WITHIN:.0f} % of trials disagree by chance: an assumption)"
    )


def gate_forecasts(plan: EvalPlan) -> tuple[str, ...]:
    if not (gates := gates_of(plan.options)):
        return ()
    empty = trials_in((), plan)
    tables, drawn = max(10, min(100, _ROWS // max(1, len(empty)))), list[tuple[GateResult, ...]]()
    for number in range(tables):
        draws = random.Random(number)  # noqa: S311 - no secret
        # All strategies are equally good: a rate for each scenario.
        rates = {scenario.name: draws.betavariate(*_RATE) for scenario in plan.scenarios}
        rows = [
            replace(
                one,
                outcome="pass" if draws.random() < rates[one.cell.scenario] else "fail",
                lacking=False,
            )
            for one in empty
        ]
        drawn.append(check_gates(gates, Sides(rows, k=plan.trials)))
    found = []
    for gate, chances in zip(gates, zip(*drawn, strict=True), strict=True):
        others = [one.sentence for one in chances if one.standing != "passed"]
        green = f"{gate}: green in {100 - 100 * len(others) / tables:.0f} % of such plans if nothing changed"
        found.append(f"{green}; if it is not, then such as: {others[0]}" if others else green)
    return tuple(found)
