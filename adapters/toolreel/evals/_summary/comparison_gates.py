"""Gates of a comparison in the syntax of ``toolreel eval compare --gate``.

========================================  ==========================================================
words                                     ask that
========================================  ==========================================================
``margin=0.1``                            it is shown that the second is at most 10 points worse
``no-regression``                         the second side is not significantly worse, at 5 %
``no-regression=0.01``                    the same at another level
``margin[these-scenarios]=0.02``          the same as ``margin``, of these scenarios and no others
``no-regression[these-scenarios]``        the same as ``no-regression``, of these scenarios
``no-regression[scenario=happy_path]``    the same of a part
``lower_bound>=0.85``                     a metric of the second side has that value
``lower_bound[strategy=production]>=0.9`` the same of a part; so for all of them
========================================  ==========================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from toolreel.evals._summary.comparison import Comparison, Row
from toolreel.evals._summary.plan_gates import adjusted_comparisons
from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core.evals import (
    About,
    Figures,
    Gate,
    GateResult,
    Measurements,
    NoRegression,
    NoWorseThan,
    StrategyComparison,
    Threshold,
    check_gate,
)

_GATE: Final = re.compile(
    r"(?P<name>[\w-]+)(?:\[(?P<part>[^\]]*)\])?(?:\s*(?P<sign>>=|<=|=)\s*(?P<number>[^\s=]+))?"
)
"""A gate: its name, the part that it is about, and the bound."""
_AXES: Final = ("strategy", "model", "scenario")
_THESE: Final = "these-scenarios"
_TESTS: Final = ("no-regression", "margin")


@dataclass(frozen=True, slots=True)
class GateOption:
    """A parsed gate option."""

    text: str
    name: str
    part: tuple[tuple[str, str], ...]
    sign: str
    number: float | None
    about: About = "scenarios-such-as-these"

    @classmethod
    def of(cls, text: str) -> GateOption:
        """Read the words.

        :raises ConfigError: if they are no gate; says what would be one
        """
        found = _GATE.fullmatch(text.strip())
        if not found:
            raise ConfigError(f"{text!r} is no gate; write such as no-regression or lower_bound>=0.85")
        sign, name = found["sign"] or "", found["name"].replace("_", "-")
        parts = [part.strip() for part in (found["part"] or "").split(",") if part.strip()]
        about: About = "these-scenarios" if _THESE in parts else "scenarios-such-as-these"
        part = _part([each for each in parts if each != _THESE], text)
        words = cls(text, found["name"], part, sign, _number(found["number"], text), about)
        if name in _TESTS:
            needed = name == "margin"
            if sign not in ({"="} if needed else {"", "="}) or len(words.part) > 1:
                raise ConfigError(f"{text!r} is no gate; write such as no-regression=0.01 or margin=0.1")
        elif about == _THESE:
            raise ConfigError(f"{text!r} is no gate; {_THESE} belongs to {' and '.join(_TESTS)}")
        elif sign not in {">=", "<="}:
            raise ConfigError(
                f"{text!r} is no gate; write {', '.join(_TESTS)}, or a metric with >= or <= and a number"
            )
        return words

    @property
    def tests(self) -> bool:
        """Whether it asks for a test, and not for a figure or the end of an interval."""
        return self.name.replace("_", "-") == "no-regression"

    @property
    def row(self) -> tuple[str, str]:
        """The axis and the value of the row that it is about, if it compares."""
        return next(iter(self.part), ("", ""))

    def gate(self, comparison: Comparison) -> Gate:
        """The gate, about two sides.

        :raises ConfigError: if its number is none that it can have
        """
        part = dict(self.part)
        names = _sides(comparison, *self.row)
        match self.name.replace("_", "-"):
            case "no-regression":
                return NoRegression(*names, 0.05 if self.number is None else self.number, self.about)
            case "margin":
                return NoWorseThan(*names, self.number or 0.0, self.about)
            case _:
                side: Literal["at_least", "at_most"] = "at_least" if self.sign == ">=" else "at_most"
                values = (part.get(axis, "") for axis in _AXES)
                return Threshold(self.name, side, self.number or 0.0, *values)


def _compared(comparison: Comparison, row: Row) -> StrategyComparison:
    names = _sides(comparison, row.axis, row.value)
    return StrategyComparison(*names, row.sample, row.these, comparison.lacking)


def _sides(comparison: Comparison, axis: str, value: str) -> tuple[str, str]:
    """What the second side and the first are called, or a part of them."""
    of = f"{axis} {value} of " if axis else ""
    return f"{of}{comparison.second.name}", f"{of}{comparison.first.name}"


def _part(words: Iterable[str], whole: str) -> tuple[tuple[str, str], ...]:
    pairs = [(axis.strip(), value.strip()) for axis, _, value in (word.partition("=") for word in words)]
    for axis, value in pairs:
        if axis not in _AXES:
            raise ConfigError(f"{whole!r}: {unknown_name('axis', axis, (*_AXES, _THESE))}")
        if not value:
            raise ConfigError(f"{whole!r}: {axis} has no value")
    return tuple(pairs)


def _number(text: str | None, whole: str) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        raise ConfigError(f"{whole!r}: {text!r} is no number") from None
    if number - number != 0:
        raise ConfigError(f"{whole!r}: {text!r} is no number that a figure can have")
    return number


def check_gate_options(
    words: Iterable[GateOption], comparison: Comparison, figures: Iterable[Figures]
) -> tuple[GateResult, ...]:
    """Check each gate; p-values are adjusted for as many tests as there are gates that ask for one.

    :raises ConfigError: if a gate is about what there is not
    """
    asked = tuple(words)
    beside = {_group(row): row for row in comparison.rows}
    compared = {(row.axis, row.value): _compared(comparison, row) for row in comparison.rows}
    tested: set[tuple[tuple[str, str], About]] = {(each.row, each.about) for each in asked if each.tests}
    measured = Measurements(
        tuple(
            Figures({**one.values, **_beside(beside[one.about])}, *one.about, one.missing)
            if one.about in beside
            else one
            for one in figures
        ),
        tuple(adjusted_comparisons(compared, tested).values()),
    )
    return tuple(check_gate(each.gate(comparison), measured) for each in asked)


def _group(row: Row) -> tuple[str, str, str]:
    strategy, model, scenario = (row.value if row.axis == axis else "" for axis in _AXES)
    return strategy, model, scenario


def _beside(row: Row) -> dict[str, float | None]:
    """How the second side differs from the first, as metrics."""
    found = row.shown
    return {
        "difference": found.difference if found else None,
        "difference_low": found.interval.low if found else None,
        "gained": row.pairs.gained,
        "lost": row.pairs.lost,
    }
