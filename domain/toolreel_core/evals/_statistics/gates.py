"""Gates: conditions that the results of an evaluation have to meet, and their check.

A plan declares each gate as a table::

    [[gate]]  # a figure
    metric = "lower_bound"
    strategy = "production"
    at_least = 0.85

    [[gate]]  # nothing has got worse, as far as a test can tell
    no_regression_of = "production"
    against = "baseline"
    alpha = 0.05

    [[gate]]  # non-inferiority: it is shown not to be worse by more than this
    no_regression_of = "production"
    against = "baseline"
    margin = 0.02

The last two differ where data is scarce: without significance the first passes, while the second fails until
the interval of the difference lies above ``-margin``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import Table
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core.evals._statistics.checked_numbers import inside, number, share

Side: TypeAlias = Literal["at_least", "at_most"]

_AXES: Final = ("strategy", "model", "scenario")


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

    def __post_init__(self) -> None:
        inside("alpha", self.alpha)


@dataclass(frozen=True, slots=True)
class NoWorseThan:
    """Non-inferiority: a strategy must be shown to be worse than another by at most a margin."""

    strategy: str
    against: str
    margin: float

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
    table.only("no_regression_of", "against", "alpha", "margin")
    names = table.text("no_regression_of"), table.text("against")
    if not all(names):
        raise table.complaint("no_regression_of and against each name a strategy")
    if "margin" in table.values and "alpha" in table.values:
        raise table.complaint("either alpha, for a test, or margin, for the end of an interval")
    if "margin" in table.values:
        return NoWorseThan(*names, share(table, "margin"))
    return NoRegression(*names, share(table, "alpha", 0.05))


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
    """One strategy compared with another."""

    strategy: str
    against: str
    difference: float | None
    """The rate of ``strategy`` less the rate of ``against``, -1 to 1; ``None`` if they share no runs."""
    low: float | None
    """The lower end of the difference's interval."""
    p_value: float | None
    """Of a two-sided test; adjusted where there are several comparisons."""
    missing: int = 0
    """Runs or pairs that the plan asks for and that are not there."""


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


def _judge_test(gate: NoRegression, found: StrategyComparison) -> GateResult:
    asked = f"{gate.strategy} must not be significantly worse than {gate.against}"
    if found.difference is None or found.p_value is None:
        return GateResult(gate, "undecided", f"{asked}, and nothing compares them.")
    worse = found.difference < 0 and found.p_value <= gate.alpha
    detail = f"{_points(found.difference)}, p = {found.p_value:.3g}, and the level is {gate.alpha:g}"
    return _judged(gate, not worse, f"{asked}: the difference is {detail}", found.missing)


def _judge_margin(gate: NoWorseThan, found: StrategyComparison) -> GateResult:
    asked = f"{gate.strategy} must be shown to be at most {_points(gate.margin)} worse than {gate.against}"
    if found.low is None:
        return GateResult(gate, "undecided", f"{asked}, and nothing compares them.")
    detail = f"the interval of the difference begins at {_points(found.low)}"
    return _judged(gate, found.low >= -gate.margin, f"{asked}: {detail}", found.missing)


def _judged(gate: Gate, holds: bool, detail: str, missing: int) -> GateResult:
    if missing:
        number_of = "1 run is" if missing == 1 else f"{missing} runs are"
        return GateResult(gate, "undecided", f"{detail}, but {number_of} missing.")
    return GateResult(gate, "passed" if holds else "failed", f"{detail}.")


def _named(about: tuple[str, ...]) -> str:
    return " / ".join(part for part in about if part) or "all runs"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"
