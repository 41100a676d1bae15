from __future__ import annotations

from itertools import product
from math import comb

import pytest

from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._statistics.early_stops import EarlyStop, chance_of_first_passes

STOPS = (EarlyStop(2, frozenset({2})), EarlyStop(4, frozenset({0, 3})))
LAST = 6


def ended(outcomes: tuple[bool, ...]) -> Count:
    """How a cell ends that is run until it stops."""
    for stop in STOPS:
        if sum(outcomes[: stop.runs]) in stop.passed:
            return Count.of(outcomes[: stop.runs])
    return Count.of(outcomes)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("k", [1, 2])
def test_the_estimate_is_right_on_average_though_cells_stop(rate: float, k: int) -> None:
    """Exactly, over all ways in which the runs can come out."""
    mean = shares = 0.0
    for outcomes in product((False, True), repeat=LAST):
        chance = rate ** sum(outcomes) * (1 - rate) ** (LAST - sum(outcomes))
        found = chance_of_first_passes(ended(outcomes), k, STOPS)
        assert found is not None
        mean += chance * found
        shares += chance * (ended(outcomes).rate or 0)
    assert mean == pytest.approx(rate**k)
    assert abs(shares - rate) > 0.003, "the share that passed is not"


def test_without_stops_it_is_the_share_of_choices() -> None:
    for passed in range(6):
        assert chance_of_first_passes(Count(passed, 5), 2) == comb(passed, 2) / comb(5, 2)
    never = (EarlyStop(2, frozenset()),)
    assert chance_of_first_passes(Count(3, 5), 2, never) == pytest.approx(comb(3, 2) / comb(5, 2))


def test_what_the_runs_do_not_tell_is_unknown() -> None:
    assert chance_of_first_passes(Count(1, 1), 2) is None
    assert chance_of_first_passes(Count(4, 6), 3, STOPS) is None, "cells with two passes stopped before that"
    # Both of the first runs passed, and still the cell went on: it was not stopped by these rules.
    assert chance_of_first_passes(Count(3, 3), 1, STOPS) is None
