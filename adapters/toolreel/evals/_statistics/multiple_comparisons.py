"""Which candidates are tied: all pairs compared, with Holm's correction for their number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from toolreel.evals._statistics.scenario_differences import scenarios_p
from toolreel.evals._statistics.significance_tests import holm_adjusted
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Count, Pairs
from toolreel_core.evals._statistics.differences import Difference, PairedCell
from toolreel_core.evals._statistics.tied_candidates import Ties, tied

Task = TypeVar("Task", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class TiesFound:
    """Sets of ties, and the tests that they are from."""

    ties: Ties
    p_values: Mapping[tuple[str, str], float]
    """Of each pair of candidates, adjusted by Holm; up to ``alpha`` they are separated."""
    alpha: float
    left_out: tuple[str, ...]
    """Candidates without a valid run."""


def holm(p_values: Mapping[tuple[str, str], float]) -> Mapping[tuple[str, str], float]:
    """Holm's adjustment of several comparisons, by their names.

    What is up to a level ``alpha`` afterwards is significant, and the chance that any of these
    findings is wrong is at most ``alpha``, however the comparisons depend on each other.

    >>> holm({("a", "b"): 0.01, ("a", "c"): 0.04, ("b", "c"): 0.03})
    {('a', 'b'): 0.03, ('a', 'c'): 0.06, ('b', 'c'): 0.06}

    :raises ConfigError: if one is no probability
    """
    for pair, value in p_values.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{' and '.join(pair)}: expected a p-value from 0 to 1, got {value!r}")
    return dict(zip(p_values, holm_adjusted([*p_values.values()]), strict=True))


def adjusted(differences: Mapping[Name, Difference]) -> Mapping[Name, Difference]:
    """The same differences with p-values adjusted for this many comparisons, and their minimum."""
    many = len(differences)
    values = holm_adjusted([each.p_value for each in differences.values()])
    return {
        name: replace(each, p_value=value, smallest_p=min(1.0, many * each.smallest_p), comparisons=many)
        for (name, each), value in zip(differences.items(), values, strict=True)
    }


def paired_ties(
    outcomes: Mapping[str, Mapping[Task, bool]],
    alpha: float = 0.05,
    *,
    cell: Callable[[Task], tuple[str, str]] = lambda task: (str(task), ""),
) -> TiesFound:
    """Sets of ties of candidates that have run the same tasks.

    Two candidates are compared on the tasks that both have a valid run of, for scenarios such as these.

    >>> right, wrong = dict.fromkeys(range(20), True), dict.fromkeys(range(20), False)
    >>> paired_ties({"raw": wrong, "baseline": right, "production": right | {3: False}}).ties.letters
    {'baseline': 'a', 'production': 'a', 'raw': 'b'}

    :param outcomes: whether each valid run of a candidate passed, by its task: all but the candidate's name
    :param cell: the scenario and the model of a task; by default each task is a scenario of its own
    """
    inside("alpha", alpha)
    rates = {name: Count.of(runs.values()).rate for name, runs in outcomes.items()}
    known = {name: rate for name, rate in rates.items() if rate is not None}

    def p_value(first: str, second: str) -> float:
        one, other = outcomes[first], outcomes[second]
        cells: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
        for task in one:
            if task in other:
                cells.setdefault(cell(task), []).append((one[task], other[task]))
        return scenarios_p(PairedCell(*at, Pairs.of(pairs)) for at, pairs in cells.items())

    values = holm({pair: p_value(*pair) for pair in combinations(known, 2)})
    ties = tied(known, [pair for pair, value in values.items() if value <= alpha])
    return TiesFound(ties, values, alpha, tuple(name for name in rates if name not in known))
