"""Gates: conditions that results have to meet, in a plan or on the command line of ``eval compare``.

``docs/evals/statistics.md`` has a table of them. On the command line, what they compare ``against`` is the
first side. A gate with runs lacking, or with too few that say something (``min_coverage``), is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from toolreel_core._config_checks import Table
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, parse
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._scenarios.forms import checked_value

GateKind: TypeAlias = Literal["figure", "no-regression", "margin", "nothing-broke"]
About: TypeAlias = Literal["scenarios-such-as-these", "these-scenarios"]
"""``scenarios-such-as-these``: the scenarios are a sample, and each counts once, however often it was run.
``these-scenarios``: they are all there is, and only chance among their trials can mislead."""
SAMPLE: About = "scenarios-such-as-these"
THESE: About = "these-scenarios"
_PARTS = ("strategy", "model", "scenario")
_SHARES = {"rate", "lower_bound", "upper_bound", "exercised_rate", "coverage", "pass_at_1", "pass_hat_k"}
_LEVEL = 0.05
"""Of tests that name none; the same as ``ALPHA`` of the statistics, which the core cannot import."""


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
    trees = parse(options.gates)
    return tuple(map(_read_gate, trees if isinstance(trees, list) else []))


_OPTION = re.compile(
    r"(?P<kind>no-regression|margin|nothing-broke)(?P<these>\[these-scenarios\])?"
    r"(?:\s*=\s*(?P<limit>\d*\.?\d+(?:e-?\d+)?))?"
)
"""A gate such as ``margin[these-scenarios]=0.02`` or ``nothing-broke``."""


def parse_gate_option(text: str) -> Gate:
    found = _OPTION.fullmatch(text.strip())
    if not found or (found["kind"] == "margin" and not found["limit"]):
        what = "margin=0.1, no-regression or nothing-broke, with [these-scenarios] for these alone"
        raise ConfigError(f"{text!r} is not a gate; write {what}")
    limit = float(found["limit"] or _LEVEL)
    if not 0 < limit < 1:
        raise ConfigError(f"{text!r}: expected a number above 0 and below 1, got {limit:g}")
    kind = cast("GateKind", found["kind"])
    return Gate(kind, limit, about=THESE if found["these"] else SAMPLE)


_TESTS: Mapping[str, GateKind] = {
    "no_regression_of": "no-regression",
    "nothing_broke_in": "nothing-broke",
}


def _read_gate(tree: Json) -> Gate:
    table = Table(("gate",), checked_value(Table((), {"gate": tree}), "gate", "gate"))
    values = table.values
    parts: dict[str, Any] = {axis: values.get(axis, "") for axis in _PARTS}
    test = next((key for key in _TESTS if key in values), "")
    if not test:
        key = "at_least" if "at_least" in values else "at_most"
        metric, limit = values["metric"], table.only("metric", key, *_PARTS).values[key]
        if metric in _SHARES and not 0 <= limit <= 1:
            raise table.error_at(f"{metric} is from 0 to 1, got {limit:g}")
        return Gate("figure", limit, metric, ">=" if key == "at_least" else "<=", **parts)
    key = "margin" if "margin" in values and test == "no_regression_of" else "alpha"
    table.only(test, "against", "about", key, "model", "scenario")
    if values[test] == values["against"]:
        raise table.error_at(f"{values[test]} is compared with itself")
    kind: GateKind = "margin" if key == "margin" else _TESTS[test]
    limit = values.get(key, _LEVEL)
    # Of a single scenario there is no other statement.
    about = values.get("about", THESE if parts["scenario"] else SAMPLE)
    return Gate(kind, limit, **{**parts, "strategy": values[test]}, against=values["against"], about=about)
