"""Gates of a comparison in the syntax of ``toolreel eval compare --gate``.

========================================  ==========================================================
words                                     ask that
========================================  ==========================================================
``no-regression``                         the second side is not significantly worse, at 5 %
``no-regression=0.01``                    the same at another level
``margin=0.02``                           it is shown that the second is at most 2 points worse
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
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core.evals._statistics.gates import (
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
_AXES: Final = ("strategy", "model", "scenario")
_TESTS: Final = ("no-regression", "margin")


@dataclass(frozen=True, slots=True)
class GateOption:
    """A parsed gate option."""

    text: str
    name: str
    part: tuple[tuple[str, str], ...]
    sign: str
    number: float | None

    @classmethod
    def of(cls, text: str) -> GateOption:
        """Read the words.

        :raises ConfigError: if they are no gate; says what would be one
        """
        found = _GATE.fullmatch(text.strip())
        if not found:
            raise ConfigError(f"{text!r} is no gate; write such as no-regression or lower_bound>=0.85")
        sign, name = found["sign"] or "", found["name"].replace("_", "-")
        words = cls(
            text, found["name"], _part(found["part"] or "", text), sign, _number(found["number"], text)
        )
        if name in _TESTS:
            needed = name == "margin"
            if sign not in ({"="} if needed else {"", "="}) or len(words.part) > 1:
                raise ConfigError(f"{text!r} is no gate; write such as no-regression=0.01 or margin=0.02")
        elif sign not in {">=", "<="}:
            raise ConfigError(
                f"{text!r} is no gate; write {', '.join(_TESTS)}, or a metric with >= or <= and a number"
            )
        return words

    def gate(self, comparison: Comparison) -> Gate:
        """The gate, about two sides.

        :raises ConfigError: if its number is none that it can have
        """
        part = dict(self.part)
        names = _sides(comparison, *next(iter(self.part), ("", "")))
        match self.name.replace("_", "-"):
            case "no-regression":
                return NoRegression(*names) if self.number is None else NoRegression(*names, self.number)
            case "margin":
                return NoWorseThan(*names, self.number or 0.0)
            case _:
                side: Literal["at_least", "at_most"] = "at_least" if self.sign == ">=" else "at_most"
                values = (part.get(axis, "") for axis in _AXES)
                return Threshold(self.name, side, self.number or 0.0, *values)


def _compared(comparison: Comparison, row: Row) -> StrategyComparison:
    tested = row.clustered or row.unpaired
    low = tested.interval.low if tested else None
    names = _sides(comparison, row.axis, row.value)
    return StrategyComparison(*names, row.difference, low, row.p_holm, comparison.lacking)


def _sides(comparison: Comparison, axis: str, value: str) -> tuple[str, str]:
    """What the second side and the first are called, or a part of them."""
    of = f"{axis} {value} of " if axis else ""
    return f"{of}{comparison.second.name}", f"{of}{comparison.first.name}"


def _part(text: str, whole: str) -> tuple[tuple[str, str], ...]:
    pairs = [
        (axis.strip(), value.strip()) for axis, _, value in (each.partition("=") for each in text.split(","))
    ]
    if not text:
        return ()
    for axis, value in pairs:
        if axis not in _AXES:
            raise ConfigError(f"{whole!r}: {unknown_name('axis', axis, _AXES)}")
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
    """Check each gate.

    :raises ConfigError: if a gate is about what there is not
    """
    beside = {_group(row): row for row in comparison.rows}
    measured = Measurements(
        tuple(
            Figures({**one.values, **_beside(beside[one.about])}, *one.about, one.missing)
            if one.about in beside
            else one
            for one in figures
        ),
        tuple(_compared(comparison, row) for row in comparison.rows),
    )
    return tuple(check_gate(each.gate(comparison), measured) for each in words)


def _group(row: Row) -> tuple[str, str, str]:
    strategy, model, scenario = (row.value if row.axis == axis else "" for axis in _AXES)
    return strategy, model, scenario


def _beside(row: Row) -> dict[str, float | None]:
    """How the second side differs from the first, as metrics."""
    tested = row.clustered or row.unpaired
    return {
        "difference": row.difference,
        "difference_low": tested.interval.low if tested else None,
        "gained": row.pairs.gained,
        "lost": row.pairs.lost,
    }
