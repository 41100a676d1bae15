from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from toolreel.evals import cluster_mean_bounds, two_way_mean_bounds

RATES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@pytest.mark.parametrize(("passed", "clusters"), [(0, 3), (1, 1), (4, 4), (18, 20), (20, 20), (150, 200)])
def test_clusters_that_pass_or_fail_as_a_whole_have_clopper_and_pearsons_interval(
    passed: int, clusters: int
) -> None:
    found = cluster_mean_bounds([1.0] * passed + [0.0] * (clusters - passed), 0.05)
    exact = stats.binomtest(passed, clusters).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.floats(0.01, 0.99), st.integers(1, 100))
def test_where_clusters_agree_no_valid_interval_could_be_narrower(rate: float, clusters: int) -> None:
    # A population in which a share fails (passes) altogether, and the others are at this rate, shows nothing
    # but this rate with a chance of 2.5 %: its mean may not be left out more often than that.
    kept = 0.025 ** (1 / clusters)
    found = cluster_mean_bounds([rate] * clusters, 0.05)
    assert found == pytest.approx((rate * kept, 1 - (1 - rate) * kept), abs=1e-6)


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


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Cells of some scenarios and models, not all of which were run."""
    scenarios, models = draw(st.integers(2, 6)), draw(st.integers(2, 7))
    rates = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])
    ran = [
        (scenario, model, draw(rates))
        for scenario in range(scenarios)
        for model in range(models)
        if draw(st.booleans())
    ]
    return [*ran, (0, 0, draw(rates))]


@settings(max_examples=25, deadline=None)
@given(tables(), st.data())
def test_over_models_too_a_better_result_never_has_a_lower_bound(
    cells: list[tuple[int, int, float]], data: st.DataObject
) -> None:
    worse = two_way_mean_bounds(cells, 0.05)
    place = data.draw(st.integers(0, len(cells) - 1))
    scenario, model, rate = cells[place]
    better = [*cells[:place], (scenario, model, data.draw(st.floats(rate, 1))), *cells[place + 1 :]]
    now = two_way_mean_bounds(better, 0.05)
    assert now[0] >= worse[0] - 1e-9
    assert now[1] >= worse[1] - 1e-9
    assert two_way_mean_bounds(cells[::-1], 0.05) == pytest.approx(worse, abs=1e-9), "the order says nothing"


@settings(max_examples=25, deadline=None)
@given(tables())
def test_over_models_too_a_tiny_change_does_not_make_it_jump(cells: list[tuple[int, int, float]]) -> None:
    nudged = [(scenario, model, min(1.0, rate + 1e-6)) for scenario, model, rate in cells]
    assert two_way_mean_bounds(nudged, 0.05) == pytest.approx(two_way_mean_bounds(cells, 0.05), abs=1e-4)


def test_models_that_nobody_has_run_make_it_wider() -> None:
    def low(models: int) -> float:
        return two_way_mean_bounds([(s, m, 1.0) for s in range(30) for m in range(models)], 0.05)[0]

    fixed = cluster_mean_bounds([1.0] * 30, 0.05)[0]
    assert low(6) < low(12) < low(40) < fixed
    # With one model or one scenario it is nearly as if the unseen one alone decided: Clopper and Pearson's.
    assert low(1) < 0.025
