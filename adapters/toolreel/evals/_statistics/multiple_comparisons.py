"""Who is tied with whom: all candidates compared with each other, corrected by Holm for so many tests."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from toolreel.evals._statistics.rate_comparisons import compare_clustered
from toolreel.evals._statistics.significance_tests import holm_adjusted
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.checked_numbers import inside
from toolreel_core.evals._statistics.counts import Count, Pairs
from toolreel_core.evals._statistics.tied_candidates import Ties, tied

Task = TypeVar("Task", bound=Hashable)


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


def paired_ties(
    outcomes: Mapping[str, Mapping[Task, bool]],
    alpha: float = 0.05,
    *,
    cluster: Callable[[Task], Hashable] = lambda task: task,
) -> TiesFound:
    """Sets of ties of candidates that have run the same tasks.

    Two candidates are compared on the tasks that both have a valid run of, by the exact p-value.

    >>> right, wrong = dict.fromkeys(range(20), True), dict.fromkeys(range(20), False)
    >>> paired_ties({"raw": wrong, "baseline": right, "production": right | {3: False}}).ties.letters
    {'baseline': 'a', 'production': 'a', 'raw': 'b'}

    :param outcomes: whether each valid run of a candidate passed, by its task: all but the candidate's name
    :param cluster: the common part of similar tasks, such as scenario and model; by default each is its own
    """
    inside("alpha", alpha)
    rates = {name: Count.of(runs.values()).rate for name, runs in outcomes.items()}
    known = {name: rate for name, rate in rates.items() if rate is not None}

    def p_value(first: str, second: str) -> float:
        one, other = outcomes[first], outcomes[second]
        clusters: dict[Hashable, list[tuple[bool, bool]]] = {}
        for task in one:
            if task in other:
                clusters.setdefault(cluster(task), []).append((one[task], other[task]))
        compared = compare_clustered(map(Pairs.of, clusters.values()))
        return compared.exact_p if compared else 1.0

    adjusted = holm({pair: p_value(*pair) for pair in combinations(known, 2)})
    ties = tied(known, [pair for pair, value in adjusted.items() if value <= alpha])
    return TiesFound(ties, adjusted, alpha, tuple(name for name in rates if name not in known))
