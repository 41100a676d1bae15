"""Gates: what an evaluation has to reach, as a plan says it.

:mod:`toolreel_core.evals._statistics.gate_check` says whether it has.

A gate is a table and asks for one thing::

    [[gate]]  # a figure
    metric = "lower_bound"
    strategy = "production"
    at_least = 0.85

    [[gate]]  # nothing has got worse, as far as a test can tell
    no_regression_of = "production"
    against = "baseline"
    alpha = 0.05

    [[gate]]  # it is shown that nothing has got worse by more than this
    no_regression_of = "production"
    against = "baseline"
    margin = 0.02

The two last ones differ where there is little data: a test that sees nothing passes the first, while the
second fails until the interval of the difference lies above ``-margin``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core._internal.tables import Table
from toolreel_core.evals._statistics.probabilities import inside, number, share

__all__ = ["Gate", "NoRegression", "NoWorseThan", "Threshold", "gate_from"]

Side: TypeAlias = Literal["at_least", "at_most"]

_AXES: Final = ("strategy", "model", "scenario")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A figure has to be at least, or at most, so much."""

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
    """It has to be shown that a strategy is not worse than another by more than a margin."""

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
