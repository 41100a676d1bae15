"""Stopping rules (group-sequential designs), declared in the plan before the first run.

Repeated tests at level 0.05 that stop at the first success find a difference in far more than 5 % of the
comparisons of equals. Interim analyses (*looks*) are therefore pre-registered, and split the alpha level: the
levels of all looks add up to the level of the rule. By the union bound the rule is then wrong at most that
often, however the runs depend on each other; it is slightly conservative.

``even`` gives every look the same level (Bonferroni). ``late`` spends ``alpha * (n / N) ** 3``, the power
family of Kim and DeMets (1987): hardly anything at the beginning and nearly everything at the end, so that
the last look is nearly as sharp as a test without interim looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import Table
from toolreel_core.evals._statistics.checked_numbers import inside, share

Spending: TypeAlias = Literal["even", "late"]
"""How the level is shared among the looks."""

_POWER: Final = 3


@dataclass(frozen=True, slots=True)
class Looks:
    """The interim analyses of a rule, and their levels.

    >>> Looks((10, 20, 40)).levels
    (0.016666666666666666, 0.016666666666666666, 0.016666666666666666)
    >>> [round(level, 4) for level in Looks((10, 20, 40), spending="late").levels]
    [0.0008, 0.0055, 0.0438]
    """

    at: tuple[int, ...]
    """Numbers of valid runs, or of pairs, in rising order; the last is the most that are run."""
    alpha: float = 0.05
    """The level of all looks together, 0 to 1."""
    spending: Spending = "even"

    def __post_init__(self) -> None:
        if not self.at or self.at[0] < 1 or any(later <= sooner for sooner, later in pairwise(self.at)):
            raise ConfigError(f"looks: expected numbers of runs in rising order, got {[*self.at]}")
        inside("alpha", self.alpha)

    @property
    def levels(self) -> tuple[float, ...]:
        """The level of each look; their sum is ``alpha``."""
        match self.spending:
            case "even":
                return (self.alpha / len(self.at),) * len(self.at)
            case "late":
                spent = [self.alpha * (runs / self.at[-1]) ** _POWER for runs in (0, *self.at)]
                return tuple(after - before for before, after in pairwise(spent))
            case _:
                assert_never(self.spending)


@dataclass(frozen=True, slots=True)
class NarrowEnough:
    """Stop a cell once the interval of its rate is narrow enough."""

    width: float
    """From the lower to the upper end, 0 to 1."""
    looks: Looks

    def __post_init__(self) -> None:
        inside("width", self.width)


@dataclass(frozen=True, slots=True)
class PairsDecided:
    """Stop two strategies on the same cell once the paired test has separated them."""

    looks: Looks


Rule: TypeAlias = NarrowEnough | PairsDecided

_UNTIL: Final = ("narrow", "decided")


def rule_from(table: Table) -> Rule:
    """Read a rule as a plan holds it.

    >>> rule_from(Table.of({"until": "narrow", "width": 0.2, "looks": [10, 20, 40]}, "stop"))
    NarrowEnough(width=0.2, looks=Looks(at=(10, 20, 40), alpha=0.05, spending='even'))

    :param table: ``until`` is ``narrow`` or ``decided``, ``looks`` a list of numbers of runs; ``width``
        belongs to ``narrow``; ``alpha`` (0.05) and ``spending`` (``even`` or ``late``) may be left out
    :raises PlaceError: if it says something else; names the place
    """
    until = table.choice("until", _UNTIL)
    table.only("until", "looks", "alpha", "spending", *(("width",) if until == "narrow" else ()))
    spending = table.choice("spending", get_args(Spending)) if "spending" in table.values else "even"
    alpha = share(table, "alpha", 0.05)
    at = _numbers(table)
    try:
        looks = Looks(at, alpha, cast("Spending", spending))
    except ConfigError as error:
        raise table.complaint(str(error).removeprefix("looks: "), "looks") from None
    return NarrowEnough(share(table, "width"), looks) if until == "narrow" else PairsDecided(looks)


def rule_sentence(rule: Rule) -> str:
    """A rule in one sentence.

    >>> print(rule_sentence(NarrowEnough(0.2, Looks((10, 20, 40)))))
    Stop a cell after 10, 20 or 40 runs, as soon as the interval of its rate is no wider than 0.2; \
the levels of the looks are 0.0167, 0.0167 and 0.0167, so that they are wrong in at most 5 % of cells.
    """
    looks = rule.looks
    levels = _listed([f"{level:.3g}" for level in looks.levels], "and")
    price = (
        f"the levels of the looks are {levels}, so that they are wrong in at most {100 * looks.alpha:g} % of"
    )
    match rule:
        case NarrowEnough():
            until = f"as soon as the interval of its rate is no wider than {rule.width:g}"
            return f"Stop a cell after {_listed(looks.at, 'or')} runs, {until}; {price} cells."
        case PairsDecided():
            until = "as soon as the exact McNemar test separates the two"
            return f"Stop after {_listed(looks.at, 'or')} pairs, {until}; {price} comparisons of equals."
        case _:
            assert_never(rule)


def _listed(items: Sequence[object], last: str) -> str:
    *before, end = map(str, items)
    return f"{', '.join(before)} {last} {end}" if before else end


def _numbers(table: Table) -> tuple[int, ...]:
    given = table.values.get("looks")
    whole = isinstance(given, list | tuple) and all(type(one) is int for one in given)
    if not isinstance(given, list | tuple) or not whole:
        raise table.complaint(f"expected a list of numbers of runs, got {given!r}", "looks")
    return tuple(given)
