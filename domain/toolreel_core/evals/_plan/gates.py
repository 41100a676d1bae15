"""Gates: conditions that results have to meet, in a plan or on the command line of ``eval compare``.

====================================  =====================  ==========================================
in a plan, as ``[[gate]]``            ``--gate``             passes if
====================================  =====================  ==========================================
``metric``, ``at_least``/``at_most``  ``lower_bound>=0.85``  the figure is on this side of the bound
``no_regression_of``, ``margin``      ``margin=0.1``         it is shown to be at most so much worse
``no_regression_of``, ``alpha``       ``no-regression``      it is not significantly worse
``nothing_broke_in``                  ``nothing-broke``      no cell got significantly worse (Holm)
====================================  =====================  ==========================================

The last three name what they compare ``against`` in a plan; on the command line that is the first side. They
are about scenarios such as these, or, with ``about = "these-scenarios"`` or ``[these-scenarios]``, about
these. ``strategy``, ``model`` and ``scenario`` (``rate[strategy=production]>=0.9``) name a part.

What is neither shown nor refuted is undecided, with what it would take. So is every gate with runs lacking,
or with too few runs that say something (``min_coverage``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table, unknown_name
from toolreel_core._jsontext import parse
from toolreel_core.evals._plan.options import Options

GateKind: TypeAlias = Literal["figure", "no-regression", "margin", "nothing-broke"]
About: TypeAlias = Literal["scenarios-such-as-these", "these-scenarios"]
"""``scenarios-such-as-these``: the scenarios are a sample, and each counts once, however often it was run.
``these-scenarios``: they are all there is, and only chance among their trials can mislead."""
SAMPLE: Final[About] = "scenarios-such-as-these"
THESE: Final[About] = "these-scenarios"
METRICS: Final = (
    *("rate", "lower_bound", "upper_bound", "exercised_rate", "coverage", "pass_at_1", "pass_hat_k"),
    *("runs", "valid", "fail", "unsupported", "void", "p50_ms", "p95_ms", "cost", "tokens"),
)
"""What a gate of a plan can name."""
_PARTS: Final = ("strategy", "model", "scenario")
_LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition."""

    kind: GateKind
    limit: float = _LEVEL
    """The bound of a figure, the level of a test, or the margin."""
    metric: str = ""
    sign: Literal["", ">=", "<="] = ""
    strategy: str = ""
    model: str = ""
    scenario: str = ""
    against: str = ""
    """The strategy that ``strategy`` is compared with; empty: two sides are compared."""
    about: About = SAMPLE

    @property
    def part(self) -> dict[str, str]:
        """The axes that it names, with their values."""
        return {axis: value for axis in _PARTS if (value := getattr(self, axis))}

    def __str__(self) -> str:
        """Its name."""
        of = " / ".join(self.part.values())
        match self.kind:
            case "figure":
                side = "at least" if self.sign == ">=" else "at most"
                return f"{self.metric}{f' of {of}' if of else ''} {side} {self.limit:g}"
            case "margin":
                return f"{of or 'second'} at most {self.limit:g} worse than {self.against or 'first'}"
            case _:
                what = "no regression of" if self.kind == "no-regression" else "nothing broke in"
                return f"{what} {of or 'second'} against {self.against or 'first'}"


def gates_of(options: Options) -> tuple[Gate, ...]:
    """The gates of a plan.

    :raises PlaceError: if one is none; names the place and what is allowed
    """
    trees = parse(options.gates)
    return tuple(_gate_from(Table.of(tree, "gate")) for tree in (trees if isinstance(trees, list) else []))


def _gate_from(table: Table) -> Gate:
    """A gate as a plan's table has it."""
    tests = [key for key in ("no_regression_of", "nothing_broke_in") if key in table.values]
    parts: dict[str, Any] = {axis: table.text(axis) for axis in _PARTS}
    if not tests:
        table.only("metric", "at_least", "at_most", *_PARTS)
        if not (metric := table.text("metric")):
            raise table.complaint("a gate has a metric, no_regression_of, or nothing_broke_in")
        if metric not in METRICS:
            raise table.complaint(unknown_name("metric", metric, METRICS))
        if ("at_least" in table.values) == ("at_most" in table.values):
            raise table.complaint("a gate about a metric has either at_least or at_most")
        side = "at_least" if "at_least" in table.values else "at_most"
        return Gate("figure", _number(table, side), metric, ">=" if side == "at_least" else "<=", **parts)
    table.only(tests[0], "against", "alpha", "margin", "about", "model", "scenario")
    names = table.text(tests[0]), table.text("against")
    if not all(names):
        raise table.complaint(f"{tests[0]} and against each name a strategy")
    if "margin" in table.values and "alpha" in table.values:
        raise table.complaint("either alpha, for a test, or margin, for the end of an interval")
    kind: GateKind = "nothing-broke" if tests[0] == "nothing_broke_in" else "no-regression"
    kind, key = ("margin", "margin") if "margin" in table.values else (kind, "alpha")
    if not 0 < (limit := _number(table, key, _LEVEL)) < 1:
        raise table.complaint(f"expected a number between 0 and 1, got {limit!r}", key)
    # Of a single scenario there is no other statement.
    about = THESE if parts["scenario"] else SAMPLE
    about = cast("About", table.choice("about", (SAMPLE, THESE))) if "about" in table.values else about
    return Gate(kind, limit, **{**parts, "strategy": names[0]}, against=names[1], about=about)


def _number(table: Table, key: str, default: float | None = None) -> float:
    value = table.values.get(key, default)
    # Infinity and nan are numbers to TOML, and there is no limit that they could be.
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
        raise table.complaint(f"expected a number, got {value!r}", key)
    return value


_WORDS: Final = re.compile(
    r"(?P<name>[\w-]+)(?:\[(?P<part>[^\]]*)\])?(?:\s*(?P<sign>>=|<=|=)\s*(?P<number>[^\s=]+))?"
)
"""A gate: its name, the part that it is about, and the bound."""


def gate_option(text: str) -> Gate:
    """A gate in the words of ``--gate``.

    :raises ConfigError: if they are none; says what would be one
    """
    found = _WORDS.fullmatch(text.strip())
    if not found:
        raise ConfigError(f"{text!r} is no gate; write such as no-regression or lower_bound>=0.85")
    parts: dict[str, Any] = {}
    words = [word.strip() for word in (found["part"] or "").split(",") if word.strip()]
    for axis, _, value in (word.partition("=") for word in words if word != THESE):
        if axis.strip() not in _PARTS:
            raise ConfigError(f"{text!r}: {unknown_name('axis', axis.strip(), (*_PARTS, THESE))}")
        if not value.strip():
            raise ConfigError(f"{text!r}: {axis.strip()} has no value")
        parts[axis.strip()] = value.strip()
    # Of a single scenario there is no other statement.
    about = THESE if THESE in words or "scenario" in parts else SAMPLE
    name, sign, number = found["name"].replace("_", "-"), found["sign"], None
    if found["number"] is not None:
        try:
            number = float(found["number"])
        except ValueError:
            raise ConfigError(f"{text!r}: {found['number']!r} is no number") from None
        if number - number != 0:
            raise ConfigError(f"{text!r}: {found['number']!r} is no number that a figure can have")
    if name in {"no-regression", "margin", "nothing-broke"}:
        if (sign or "=") != "=" or (name == "margin" and number is None) or len(parts) > 1:
            raise ConfigError(f"{text!r} is no gate; write such as no-regression=0.01 or margin=0.1")
        limit = _LEVEL if number is None else number
        if not 0 < limit < 1:
            raise ConfigError(f"{text!r}: expected a number between 0 and 1, got {limit!r}")
        return Gate(cast("GateKind", name), limit, **parts, about=about)
    if THESE in words:
        raise ConfigError(f"{text!r} is no gate; {THESE} belongs to no-regression and margin")
    if sign not in {">=", "<="} or number is None:
        what = "write no-regression, margin, nothing-broke, or a metric with >= or <= and a number"
        raise ConfigError(f"{text!r} is no gate; {what}")
    return Gate("figure", number, found["name"], cast('Literal[">=", "<="]', sign), **parts)
