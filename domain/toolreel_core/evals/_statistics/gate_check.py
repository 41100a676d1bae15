"""Whether what was measured passes the gates of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from toolreel_core._errors import ConfigError
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core.evals._statistics.gates import Gate, NoRegression, NoWorseThan, Threshold

__all__ = ["Compared", "Figures", "Judged", "Measured", "Standing", "judge", "overall"]

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
class Compared:
    """How one strategy did beside another."""

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
class Measured:
    """All that gates can ask about."""

    figures: tuple[Figures, ...] = ()
    comparisons: tuple[Compared, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one gate."""

    gate: Gate
    standing: Standing
    sentence: str
    """What was asked, what was found and, if it is undecided, why."""


def judge(gate: Gate, measured: Measured) -> Judged:
    """Hold what was measured against one gate.

    >>> found = Measured((Figures({"lower_bound": 0.8372}, strategy="production"),))
    >>> judged = judge(Threshold("lower_bound", "at_least", 0.85, strategy="production"), found)
    >>> judged.standing, judged.sentence
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


def overall(judged: Iterable[Judged]) -> Standing:
    """What all gates together come to: failed if one failed, else undecided if one is.

    >>> overall([])
    'passed'
    """
    standings = {one.standing for one in judged}
    return "failed" if "failed" in standings else "undecided" if "undecided" in standings else "passed"


def _judge_threshold(gate: Threshold, measured: Measured) -> Judged:
    found = {figures.about: figures for figures in measured.figures}
    if (figures := found.get(gate.about)) is None:
        raise ConfigError(unknown_name("group of runs", _named(gate.about), map(_named, found)))
    if gate.metric not in figures.values:
        raise ConfigError(unknown_name("metric", gate.metric, figures.values))
    value = figures.values[gate.metric]
    asked = f"{gate.metric} of {_named(gate.about)} has to be {gate.side.replace('_', ' ')} {gate.limit:g}"
    if value is None:
        return Judged(gate, "undecided", f"{asked}, and is not known.")
    holds = value >= gate.limit if gate.side == "at_least" else value <= gate.limit
    return _judged(gate, holds, f"{asked}, and is {value:.4g}", figures.missing)


def _comparison(gate: NoRegression | NoWorseThan, measured: Measured) -> Compared:
    found = {(one.strategy, one.against): one for one in measured.comparisons}
    if (compared := found.get((gate.strategy, gate.against))) is None:
        known = (f"{strategy} against {against}" for strategy, against in found)
        raise ConfigError(unknown_name("comparison", f"{gate.strategy} against {gate.against}", known))
    return compared


def _judge_test(gate: NoRegression, found: Compared) -> Judged:
    asked = f"{gate.strategy} must not be significantly worse than {gate.against}"
    if found.difference is None or found.p_value is None:
        return Judged(gate, "undecided", f"{asked}, and nothing compares them.")
    worse = found.difference < 0 and found.p_value <= gate.alpha
    told = f"{_points(found.difference)}, p = {found.p_value:.3g}, and the level is {gate.alpha:g}"
    return _judged(gate, not worse, f"{asked}: the difference is {told}", found.missing)


def _judge_margin(gate: NoWorseThan, found: Compared) -> Judged:
    asked = f"{gate.strategy} must be shown to be at most {_points(gate.margin)} worse than {gate.against}"
    if found.low is None:
        return Judged(gate, "undecided", f"{asked}, and nothing compares them.")
    told = f"the interval of the difference begins at {_points(found.low)}"
    return _judged(gate, found.low >= -gate.margin, f"{asked}: {told}", found.missing)


def _judged(gate: Gate, holds: bool, told: str, missing: int) -> Judged:
    if missing:
        number_of = "1 run is" if missing == 1 else f"{missing} runs are"
        return Judged(gate, "undecided", f"{told}, but {number_of} missing.")
    return Judged(gate, "passed" if holds else "failed", f"{told}.")


def _named(about: tuple[str, ...]) -> str:
    return " / ".join(part for part in about if part) or "all runs"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"
