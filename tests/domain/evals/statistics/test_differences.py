from __future__ import annotations

import pytest

from toolreel_core.evals import (
    clusters_to_reach,
    clusters_to_show,
    runs_to_show,
    smallest_flips_p,
    smallest_permutation_p,
)


@pytest.mark.parametrize("level", [0.05, 0.01, 0.001, 1.0])
@pytest.mark.parametrize("comparisons", [1, 3, 20])
def test_so_many_clusters_reach_a_level_and_one_less_does_not(level: float, comparisons: int) -> None:
    least = clusters_to_reach(level / comparisons, 1)
    assert least == clusters_to_reach(level, comparisons)
    assert comparisons * smallest_flips_p(least) <= level
    assert least == 1 or comparisons * smallest_flips_p(least - 1) > level


def test_one_cluster_says_nothing() -> None:
    assert smallest_flips_p(0) == smallest_flips_p(1) == 1


def test_a_permutation_is_one_of_so_many() -> None:
    assert smallest_permutation_p([]) == smallest_permutation_p([1]) == 1
    assert smallest_permutation_p([20]) == pytest.approx(1.4508889e-11)
    assert smallest_permutation_p([500] * 10) == 0


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05, 0.1, 0.5])
def test_so_many_agreeing_clusters_show_a_margin_and_one_less_does_not(margin: float) -> None:
    least = clusters_to_show(margin)
    assert 1 - 0.025 ** (1 / least) <= margin < 1 - 0.025 ** (1 / (least - 1))


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05, 0.1, 0.5])
def test_so_many_passing_runs_show_a_margin_and_one_less_does_not(margin: float) -> None:
    least, squared = runs_to_show(margin), 1.959963984540054**2
    assert squared / (least + squared) <= margin < squared / (least - 1 + squared)
