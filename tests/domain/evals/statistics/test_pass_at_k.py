from __future__ import annotations

from itertools import combinations
from math import isclose

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals import CellMean, Count, pass_hat

CELLS = [Count(5, 5), Count(3, 5), Count(0, 4), Count(1, 1)]


def test_with_one_trial_it_is_the_mean_of_the_cells_rates() -> None:
    assert pass_hat(CELLS, 1) == CellMean(k=1, rate=(1 + 0.6 + 0 + 1) / 4, cells=4, left_out=0)


def test_cells_with_too_few_trials_are_left_out_and_counted() -> None:
    assert pass_hat(CELLS, 5) == CellMean(k=5, rate=0.5, cells=2, left_out=2)
    assert pass_hat(CELLS, 6) == CellMean(k=6, rate=None, cells=0, left_out=4)
    assert pass_hat([], 1) == CellMean(k=1, rate=None, cells=0, left_out=0)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("passed", range(5))
def test_it_is_a_share_of_all_choices_of_k_trials(passed: int, k: int) -> None:
    chosen = [*combinations([True] * passed + [False] * (4 - passed), k)]
    assert isclose(pass_hat([Count(passed, 4)], k).rate or 0, sum(map(all, chosen)) / len(chosen))


def test_k_is_a_number_of_trials() -> None:
    told = complaint(ConfigError, lambda: pass_hat(CELLS, 0))
    assert told == "k: expected a whole number of at least 1, got 0"
