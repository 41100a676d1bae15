from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolreel.evals._statistics.cluster_means import cluster_mean_bounds

RATES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@pytest.mark.parametrize(("passed", "clusters"), [(0, 3), (1, 1), (4, 4), (18, 20), (20, 20), (150, 200)])
def test_clusters_that_pass_or_fail_as_a_whole_have_clopper_and_pearsons_interval(
    passed: int, clusters: int
) -> None:
    found = cluster_mean_bounds([1.0] * passed + [0.0] * (clusters - passed), 0.05)
    exact = stats.binomtest(passed, clusters).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(RATES, st.data())
def test_a_better_result_never_has_a_lower_bound(rates: Sequence[float], data: st.DataObject) -> None:
    better = [data.draw(st.floats(rate, 1)) for rate in rates]
    worse, now = cluster_mean_bounds(rates, 0.05), cluster_mean_bounds(better, 0.05)
    assert now[0] >= worse[0] - 1e-9
    assert now[1] >= worse[1] - 1e-9


@given(RATES)
def test_the_mean_is_inside_and_no_sample_is_taken_for_everything(rates: Sequence[float]) -> None:
    low, high = cluster_mean_bounds(rates, 0.05)
    mean, clusters = sum(rates) / len(rates), len(rates)
    assert low - 1e-9 <= mean <= high + 1e-9
    # What nobody has run: one unseen cluster can weigh as much as that.
    unseen = 1 - 0.025 ** (1 / clusters)
    assert high - low >= unseen - 1e-9


@given(RATES, st.randoms(use_true_random=False))
def test_neither_the_order_nor_a_tiny_change_makes_it_jump(rates: list[float], random: Random) -> None:
    shuffled = random.sample(rates, len(rates))
    nudged = [min(1.0, rate + 1e-6) for rate in rates]
    found = cluster_mean_bounds(rates, 0.05)
    assert cluster_mean_bounds(shuffled, 0.05) == pytest.approx(found, abs=1e-9)
    assert cluster_mean_bounds(nudged, 0.05) == pytest.approx(found, abs=1e-4)
