"""Gates: conditions that the results of an evaluation have to meet, and their check.

A plan declares each gate as a table::

    [[gate]]  # a figure
    metric = "lower_bound"
    strategy = "production"
    at_least = 0.85

    [[gate]]  # non-inferiority: it is shown not to be worse by more than this
    no_regression_of = "production"
    against = "baseline"
    margin = 0.1

    [[gate]]  # nothing has got worse, as far as a test can tell
    no_regression_of = "production"
    against = "baseline"
    alpha = 0.05
    about = "these-scenarios"

The last two differ where data is scarce: without significance the second passes, while the first does not
until the interval of the difference lies above ``-margin``. Both are about scenarios such as these, of which
the evaluation has a sample, unless they say ``about = "these-scenarios"``. Where there are too few scenarios,
or trials, to tell, a gate is undecided, and its sentence says how many it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table, unknown_name
from toolreel_core.evals._statistics.checked_numbers import inside, number, share
from toolreel_core.evals._statistics.differences import (
    About,
    Difference,
    clusters_to_reach,
    clusters_to_show,
    runs_to_show,
)

Side: TypeAlias = Literal["at_least", "at_most"]
METRICS: Final = (
    *("rate", "lower_bound", "upper_bound", "exercised_rate", "coverage", "pass_at_1", "pass_hat_k"),
    *("runs", "valid", "fail", "unsupported", "void", "p50_ms", "p95_ms", "cost", "tokens"),
)
"""What a gate of a plan can name."""

_AXES: Final = ("strategy", "model", "scenario")
_SAMPLE: Final[About] = "scenarios-such-as-these"
_LEAST_SHOWN: Final = 0.001


@dataclass(frozen=True, slots=True)
class Threshold:
    """A metric has to be at least, or at most, the limit."""

    metric: str
    side: Side
    limit: float
    strategy: str = ""
    model: str = ""
    scenario: str = ""

    @property
    def about(self) -> tuple[str, str, str]:
        """The group whose figure it is."""
        return self.strategy, self.model, self.scenario


@dataclass(frozen=True, slots=True)
class NoRegression:
    """A strategy must not be significantly worse than another."""

    strategy: str
    against: str
    alpha: float = 0.05
    about: About = _SAMPLE

    def __post_init__(self) -> None:
        inside("alpha", self.alpha)


@dataclass(frozen=True, slots=True)
class NoWorseThan:
    """Non-inferiority: a strategy must be shown to be worse than another by at most a margin."""

    strategy: str
    against: str
    margin: float
    about: About = _SAMPLE

    def __post_init__(self) -> None:
        inside("margin", self.margin)


Gate: TypeAlias = Threshold | NoRegression | NoWorseThan


def gate_from(table: Table) -> Gate:
    """Read a gate as a plan holds it.

    >>> gate_from(Table.of({"metric": "lower_bound", "strategy": "production", "at_least": 0.85}, "gate"))
    Threshold(metric='lower_bound', side='at_least', limit=0.85, strategy='production', model='', scenario='')

    :raises PlaceError: if it is none; names the place and what is allowed
    """
    if "no_regression_of" in table.values:
        return _regression_from(table)
    table.only("metric", "at_least", "at_most", *_AXES)
    if not (metric := table.text("metric")):
        raise table.complaint("a gate has a metric, or no_regression_of")
    side: Side = "at_least" if "at_least" in table.values else "at_most"
    if ("at_least" in table.values) == ("at_most" in table.values):
        raise table.complaint("a gate about a metric has either at_least or at_most")
    return Threshold(metric, side, number(table, side), *map(table.text, _AXES))


def _regression_from(table: Table) -> NoRegression | NoWorseThan:
    table.only("no_regression_of", "against", "alpha", "margin", "about")
    names = table.text("no_regression_of"), table.text("against")
    if not all(names):
        raise table.complaint("no_regression_of and against each name a strategy")
    if "margin" in table.values and "alpha" in table.values:
        raise table.complaint("either alpha, for a test, or margin, for the end of an interval")
    about = cast("About", table.choice("about", get_args(About))) if "about" in table.values else _SAMPLE
    if "margin" in table.values:
        return NoWorseThan(*names, share(table, "margin"), about)
    return NoRegression(*names, share(table, "alpha", 0.05), about)


Standing: TypeAlias = Literal["passed", "failed", "undecided"]
"""``undecided``: runs are missing, or the figure is not known."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one group of runs; an empty axis means all of it."""

    values: Mapping[str, float | None]
    """By the name of the metric, such as ``rate``, ``lower_bound`` or ``p95_ms``; ``None``: not known."""
    strategy: str = ""
    model: str = ""
    scenario: str = ""
    missing: int = 0
    """Runs that the plan asks for and that are not there, or void."""

    @property
    def about(self) -> tuple[str, str, str]:
        """The group: strategy, model and scenario."""
        return self.strategy, self.model, self.scenario


@dataclass(frozen=True, slots=True)
class StrategyComparison:
    """One strategy compared with another; without a difference if they share no runs."""

    strategy: str
    against: str
    sample: Difference | None = None
    """About scenarios such as these; ``None`` also if a single scenario is what is compared."""
    these: Difference | None = None
    """About these scenarios."""
    missing: int = 0
    """Runs or pairs that the plan asks for and that are not there."""

    def difference(self, about: About) -> Difference | None:
        """What was found of this kind; about a scenario that was named there is only the narrower one."""
        return (self.sample or self.these) if about == _SAMPLE else self.these


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements that gates refer to."""

    figures: tuple[Figures, ...] = ()
    comparisons: tuple[StrategyComparison, ...] = ()


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate."""

    gate: Gate
    standing: Standing
    sentence: str
    """What was asked, what was found and, if it is undecided, why."""


def check_gate(gate: Gate, measured: Measurements) -> GateResult:
    """Check one gate.

    >>> found = Measurements((Figures({"lower_bound": 0.8372}, strategy="production"),))
    >>> results = check_gate(Threshold("lower_bound", "at_least", 0.85, strategy="production"), found)
    >>> results.standing, results.sentence
    ('failed', 'lower_bound of production has to be at least 0.85, and is 0.8372.')

    :raises ConfigError: if the gate is about what nobody has measured; names what there is
    """
    match gate:
        case Threshold():
            return _judge_threshold(gate, measured)
        case NoRegression():
            return _judge_test(gate, _comparison(gate, measured))
        case NoWorseThan():
            return _judge_margin(gate, _comparison(gate, measured))
        case _:
            assert_never(gate)


def overall_standing(results: Iterable[GateResult]) -> Standing:
    """The standing of all gates: failed if one failed, else undecided if one is.

    >>> overall_standing([])
    'passed'
    """
    standings = {one.standing for one in results}
    return "failed" if "failed" in standings else "undecided" if "undecided" in standings else "passed"


def _judge_threshold(gate: Threshold, measured: Measurements) -> GateResult:
    found = {figures.about: figures for figures in measured.figures}
    if (figures := found.get(gate.about)) is None:
        raise ConfigError(unknown_name("group of runs", _named(gate.about), map(_named, found)))
    if gate.metric not in figures.values:
        raise ConfigError(unknown_name("metric", gate.metric, figures.values))
    value = figures.values[gate.metric]
    asked = f"{gate.metric} of {_named(gate.about)} has to be {gate.side.replace('_', ' ')} {gate.limit:g}"
    if value is None:
        return GateResult(gate, "undecided", f"{asked}, and is not known.")
    holds = value >= gate.limit if gate.side == "at_least" else value <= gate.limit
    return _judged(gate, holds, f"{asked}, and is {value:.4g}", figures.missing)


def _comparison(gate: NoRegression | NoWorseThan, measured: Measurements) -> StrategyComparison:
    found = {(one.strategy, one.against): one for one in measured.comparisons}
    if (compared := found.get((gate.strategy, gate.against))) is None:
        known = (f"{strategy} against {against}" for strategy, against in found)
        raise ConfigError(unknown_name("comparison", f"{gate.strategy} against {gate.against}", known))
    return compared


def _judge_test(gate: NoRegression, compared: StrategyComparison) -> GateResult:
    asked = f"{gate.strategy} must not be significantly worse than {gate.against}"
    if (found := compared.difference(gate.about)) is None:
        return GateResult(gate, "undecided", f"{asked}, and nothing compares them.")
    if found.smallest_p > gate.alpha:
        detail = f"{asked}, and {_too_few(found, gate.alpha)}"
        return GateResult(gate, "undecided", f"{detail}{_on_these(found, compared)}.")
    finding = f"the difference is {_found(found)}, and the level is {gate.alpha:g}"
    worse = _worse(found, gate.alpha)
    if not worse and found is not compared.these and _worse(compared.these, gate.alpha):
        # No sample of scenarios shows it, but it is no accident of the trials: nothing that may pass.
        return GateResult(gate, "undecided", f"{asked}: {finding}{_on_these(found, compared)}.")
    return _judged(gate, not worse, f"{asked}: {finding}", compared.missing)


def _judge_margin(gate: NoWorseThan, compared: StrategyComparison) -> GateResult:
    asked = f"{gate.strategy} must be shown to be at most {_points(gate.margin)} worse than {gate.against}"
    if (found := compared.difference(gate.about)) is None:
        return GateResult(gate, "undecided", f"{asked}, and nothing compares them.")
    low, high = found.interval.low, found.interval.high
    detail = (
        f"{asked}: the interval of the difference is {_points(low)} to {_points(high)} for {_kind(found)}"
    )
    shown, refuted = low >= -gate.margin, high < -gate.margin
    if not shown and not refuted and (needed := _more_to_show(found, gate.margin)):
        detail = f"{detail}, and {needed}{_on_these(found, compared)}"
        return GateResult(gate, "undecided", f"{detail}.")
    return _judged(gate, shown, detail, compared.missing)


def _worse(found: Difference | None, alpha: float) -> bool:
    return found is not None and found.difference < 0 and found.p_value <= alpha


def _too_few(found: Difference, alpha: float) -> str:
    """Why no difference can be significant, and what would change that."""
    among = f" of {found.comparisons} comparisons" if found.comparisons > 1 else ""
    if found.about == "these-scenarios":
        trials = f"{_counted(found.runs, 'run')} on {_counted(found.scenarios, 'scenario')}"
        return f"with {trials} no difference{among} can reach {alpha:g}; more trials can"
    least = clusters_to_reach(alpha, found.comparisons)
    there, noun = _fewest(found)
    return f"with {_counted(there, noun)} no difference{among} can reach {alpha:g}; {least} or more can"


def _more_to_show(found: Difference, margin: float) -> str:
    """What a margin takes, if there is less; empty if there is not."""
    if found.about == "these-scenarios":
        least, there, noun = runs_to_show(margin), found.runs, "run"
    else:
        least, (there, noun) = clusters_to_show(margin), _fewest(found)
    return f"it takes {least} {noun}s to show so little, of which there are {there}" if there < least else ""


def _fewest(found: Difference) -> tuple[int, str]:
    """What there is least of that is a sample."""
    if found.models and found.models < found.scenarios:
        return found.models, "model"
    return found.scenarios, "scenario"


def _on_these(found: Difference, compared: StrategyComparison) -> str:
    """What the narrower statement would be, where that was not the question."""
    if compared.these is None or found is compared.these:
        return ""
    return f'. On these scenarios alone ("these-scenarios") the difference is {_tested(compared.these)}'


def _found(found: Difference) -> str:
    return f"{_tested(found)} for {_kind(found)}"


def _tested(found: Difference) -> str:
    shown = f"< {_LEAST_SHOWN:g}" if found.p_value < _LEAST_SHOWN else f"= {found.p_value:.3g}"
    return f"{_points(found.difference)}, p {shown}"


def _kind(found: Difference) -> str:
    return "these scenarios" if found.about == "these-scenarios" else "scenarios such as these"


def _counted(many: int, noun: str) -> str:
    return f"{many} {noun}{'' if many == 1 else 's'}"


def _judged(gate: Gate, holds: bool, detail: str, missing: int) -> GateResult:
    if missing:
        return GateResult(
            gate,
            "undecided",
            f"{detail}, but {_counted(missing, 'run')} {'is' if missing == 1 else 'are'} missing.",
        )
    return GateResult(gate, "passed" if holds else "failed", f"{detail}.")


def _named(about: tuple[str, ...]) -> str:
    return " / ".join(part for part in about if part) or "all runs"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"
