from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel.evals._statistics.intervals import Clustered, clustered_rate, wilson
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (Count(496, 580), "82.4 to 88.1 %"),
        (Count(503, 580), "83.7 to 89.2 %"),
        (Count(20, 20), "83.9 to 100 %"),
        (Count(0, 20), "0 to 16.1 %"),
        (Count(5, 10), "23.7 to 76.3 %"),
    ],
)
def test_a_cell_has_wilsons_interval(count: Count, shown: str) -> None:
    interval = wilson(count)
    assert str(interval) == shown
    assert interval
    assert (interval.confidence, interval.method) == (0.95, "Wilson")


def test_an_interval_ends_exactly_at_0_or_1_where_all_runs_came_to_the_same() -> None:
    for runs in range(1, 50):
        none, every = wilson(Count(0, runs)), wilson(Count(runs, runs))
        assert none
        assert every
        assert (none.low, every.high) == (0.0, 1.0)


def test_no_runs_have_no_interval() -> None:
    assert wilson(Count(0, 0)) is None


def test_more_confidence_takes_a_wider_interval() -> None:
    widths = [interval.width for level in (0.8, 0.95, 0.99) if (interval := wilson(Count(15, 20), level))]
    assert widths == sorted(widths)
    assert complaint(ConfigError, lambda: wilson(Count(15, 20), 95)).startswith("confidence: expected")


CELLS = [Count(5, 5), Count(4, 5), Count(1, 4), Count(0, 2), Count(5, 5), Count(3, 6)]


def clustered(cells: list[Count]) -> Clustered:
    found = clustered_rate(cells)
    assert found
    return found


def test_the_interval_is_that_of_a_logistic_regression_with_clusters() -> None:
    # statsmodels 0.15.0, one row for each run of CELLS, with `groups` naming its cell:
    # GLM(passed, ones, family=Binomial()).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True);
    # the ends of its conf_int() on the logit scale, turned back into rates.
    found = clustered(CELLS)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.2885903, 0.90792304), abs=5e-9)
    assert found.interval.method == "cluster-robust logit"


def test_the_variance_is_that_of_least_squares_with_clusters() -> None:
    # statsmodels 0.15.0: OLS(passed, ones).fit(cov_type="cluster", cov_kwds={"groups": groups}).bse ** 2
    variance = 0.019021490626428907
    found = clustered(CELLS)
    assert found.rate == pytest.approx(2 / 3)
    assert found.design_effect
    independent = found.rate * (1 - found.rate) / found.count.runs
    assert found.design_effect * independent == pytest.approx(variance, rel=1e-12)


def test_cells_that_pass_or_fail_as_one_take_more_runs_than_mixed_ones() -> None:
    alike, mixed = clustered([Count(5, 5), Count(0, 5)] * 10), clustered([Count(2, 5), Count(3, 5)] * 10)
    plain = wilson(Count(50, 100))
    assert plain
    assert alike.interval.width > 2 * plain.width > 4 * mixed.interval.width
    assert alike.design_effect == pytest.approx(5 * 20 / 19)


def test_one_cluster_stands_for_itself_alone() -> None:
    found, plain = clustered([Count(15, 20), Count(0, 0)]), wilson(Count(15, 20))
    assert plain
    assert str(found.interval) == str(plain)
    assert found.interval.method == "Wilson of the runs: there is one cluster"
    assert (found.clusters, found.design_effect) == (1, None)


@pytest.mark.parametrize(("passed", "shown"), [(5, "83.9 to 100 %"), (0, "0 to 16.1 %")])
def test_where_all_runs_came_to_the_same_each_cluster_is_one_trial(passed: int, shown: str) -> None:
    found = clustered([Count(passed, 5)] * 20)
    assert str(found.interval) == shown
    assert found.interval.method == "Wilson of the clusters: all runs came to the same"
    assert found.design_effect is None


def test_clusters_without_a_difference_are_counted_by_their_runs() -> None:
    found, plain = clustered([Count(1, 3), Count(2, 6), Count(1, 3)]), wilson(Count(4, 12))
    assert plain
    assert str(found.interval) == str(plain)
    assert found.interval.method == "Wilson of the runs: all clusters have the same rate"
    assert found.design_effect == 0


def test_an_interval_stays_between_0_and_1_however_few_clusters_there_are() -> None:
    found = clustered([Count(1, 1), Count(999, 1000)])
    assert 0 <= found.interval.low <= found.rate <= found.interval.high <= 1
    wide = clustered([Count(10, 10), Count(0, 10)])
    assert wide.interval.width > 0.99


def test_nothing_is_known_of_no_runs() -> None:
    assert clustered_rate([]) is None
    assert clustered_rate([Count(0, 0)]) is None
