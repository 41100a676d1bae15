from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb

import pytest
from scipy import stats
from scipy.stats import binomtest

from tests.samples import complaint
from toolreel.evals._statistics.rate_comparisons import (
    Paired,
    Unpaired,
    compare_clustered,
    compare_paired,
    compare_unpaired,
    paired_detectable,
    paired_power,
)
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count, Pairs


def paired(pairs: Pairs) -> Paired:
    found = compare_paired(pairs)
    assert found
    return found


def clustered(*cells: Pairs) -> Paired:
    found = compare_clustered(cells)
    assert found
    return found


def sign_p(lost: int, gained: int) -> float:
    return float(binomtest(lost, lost + gained).pvalue) if lost + gained else 1


def apart(pairs: Pairs) -> list[Pairs]:
    """Each pair in a cell of its own."""
    ones = Pairs(1, 0, 0, 0), Pairs(0, 1, 0, 0), Pairs(0, 0, 1, 0), Pairs(0, 0, 0, 1)
    counts = pairs.both, pairs.lost, pairs.gained, pairs.neither
    return [one for one, count in zip(ones, counts, strict=True) for _ in range(count)]


@pytest.mark.parametrize(
    ("gained", "lost", "exact_p", "mid_p"),
    [(10, 2, 0.0386, 0.0225), (2, 10, 0.0386, 0.0225), (5, 0, 0.0625, 0.03125), (6, 0, 0.03125, 0.015625)],
)
def test_discordant_pairs_tell_two_apart(gained: int, lost: int, exact_p: float, mid_p: float) -> None:
    found = paired(Pairs(both=50, lost=lost, gained=gained, neither=3))
    assert (found.exact_p, found.mid_p) == pytest.approx((exact_p, mid_p), abs=5e-5)
    assert (found.test, found.clusters) == ("exact McNemar", None)


def test_six_recoveries_and_no_loss_are_exactly_one_in_thirty_two() -> None:
    assert paired(Pairs(4, 0, 6, 0)).exact_p == pytest.approx(0.03125, abs=1e-12)


@pytest.mark.parametrize(("gained", "lost"), [*product(range(5), repeat=2), (40, 25), (600, 500)])
def test_the_exact_test_is_the_sign_test_of_discordant_pairs(gained: int, lost: int) -> None:
    found, cells = paired(Pairs(7, lost, gained, 2)), clustered(*apart(Pairs(7, lost, gained, 2)))
    expected = sign_p(lost, gained)
    assert found.exact_p == pytest.approx(expected)
    assert cells.exact_p == pytest.approx(expected)
    assert cells.mid_p == pytest.approx(found.mid_p)


def test_without_discordant_pairs_there_is_no_difference() -> None:
    found = paired(Pairs(18, 0, 0, 2))
    assert (found.difference, found.exact_p, found.mid_p) == (0, 1, 1)
    assert found.interval.holds(0)


def test_the_interval_is_the_published_one() -> None:
    # Fagerland, Lydersen and Laake 2014, BMC Med Res Methodol 14: hyper-responsive airways before and after.
    found = paired(Pairs(both=1, lost=1, gained=7, neither=12))
    assert (round(found.interval.low, 3), round(found.interval.high, 3)) == (0.026, 0.507)


def test_the_interval_covers_what_it_says() -> None:
    """Summed over all tables of 20 pairs, for a few truths."""
    pairs = 20
    for lost, gained, both in ((0.1, 0.1, 0.7), (0.02, 0.12, 0.8), (0.2, 0.35, 0.3)):
        neither, covered = 1 - lost - gained - both, 0.0
        for b, c in product(range(16), repeat=2):
            for a in range(max(0, pairs - b - c + 1)):
                d = pairs - a - b - c
                chance = comb(pairs, a) * comb(pairs - a, b) * comb(pairs - a - b, c)
                weight = chance * both**a * lost**b * gained**c * neither**d
                if weight > 1e-6 and paired(Pairs(a, b, c, d)).interval.holds(gained - lost):
                    covered += weight
        assert covered > 0.93


def test_cells_are_flipped_as_a_whole() -> None:
    cells = [Pairs(0, 0, 5, 0), Pairs(1, 0, 4, 0), Pairs(2, 1, 0, 2), Pairs(3, 0, 2, 0)]
    differences = [5, 4, -1, 2]
    sums = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=4)
    ]
    found = clustered(*cells)
    assert found.exact_p == sum(one >= 10 for one in sums) / 16 == 4 / 16
    assert found.mid_p == sum((one > 10) + (one == 10) / 2 for one in sums) / 16
    assert (found.test, found.clusters) == ("exact sign flips of clusters", 4)


def test_trials_that_go_together_prove_less_than_as_many_that_do_not() -> None:
    together = clustered(*[Pairs(0, 0, 5, 0)] * 3, Pairs(5, 0, 0, 0))
    assert together.exact_p == 0.25
    assert paired(together.pairs).exact_p < 0.0001
    assert together.interval.width > paired(together.pairs).interval.width


def test_the_clustered_interval_is_that_of_least_squares_with_clusters() -> None:
    cells = [Pairs(1, 1, 2, 1), Pairs(3, 0, 1, 0), Pairs(0, 0, 3, 1), Pairs(2, 1, 0, 3), Pairs(1, 0, 0, 1)]
    # statsmodels 0.15.0, one row for each pair: 1 if gained, -1 if lost, 0 else; `groups` names its cell:
    # OLS(differences, ones).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True).conf_int()
    found = clustered(*cells)
    assert found.difference == pytest.approx(4 / 21)
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.27238242, 0.6533348), abs=5e-9)
    assert found.interval.method == "cluster-robust"


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([Pairs(3, 1, 2, 1), Pairs(0, 0, 0, 0)], "there is one cluster"),
        ([Pairs(1, 0, 1, 0), Pairs(2, 0, 2, 0)], "all clusters have the same difference"),
        ([Pairs(5, 0, 0, 0), Pairs(2, 0, 0, 1)], "all clusters have the same difference"),
    ],
)
def test_where_cells_do_not_differ_the_pairs_are_counted(cells: list[Pairs], why: str) -> None:
    found = clustered(*cells)
    assert found.interval.method == f"Newcombe's square-and-add of the pairs: {why}"
    assert str(found.interval) == str(paired(found.pairs).interval)


def test_a_clustered_interval_ends_where_differences_do() -> None:
    found = clustered(Pairs(0, 0, 9, 0), Pairs(1, 0, 3, 1))
    assert found.interval.high == 1


def test_nothing_is_compared_without_pairs() -> None:
    assert compare_paired(Pairs(0, 0, 0, 0)) is None
    assert compare_clustered([]) is None
    assert compare_clustered([Pairs(0, 0, 0, 0)]) is None


def compared(first: Count, second: Count) -> Unpaired:
    found = compare_unpaired(first, second)
    assert found
    return found


def test_a_small_difference_of_many_runs_is_no_difference() -> None:
    found = compared(Count(496, 580), Count(503, 580))
    assert round(found.difference, 4) == 0.0121
    assert round(found.p_value, 2) == 0.55
    assert str(found.interval) == "-2.8 to 5.2 %"
    assert (found.test, found.interval.method) == ("score test", "Newcombe's hybrid score")


@pytest.mark.parametrize(
    ("first", "second"), [(Count(496, 580), Count(503, 580)), (Count(60, 100), Count(75, 90))]
)
def test_the_score_test_is_nearly_pearsons(first: Count, second: Count) -> None:
    table = [[count.passed, count.runs - count.passed] for count in (first, second)]
    _, expected, *_ = stats.chi2_contingency(table, correction=False)
    assert compared(first, second).p_value == pytest.approx(expected, rel=0.05)


def test_newcombes_own_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17:873, table II: 56/70 and 48/80 by method 10.
    found = compared(Count(48, 80), Count(56, 70))
    assert (round(found.interval.low, 4), round(found.interval.high, 4)) == (0.0524, 0.3339)


@pytest.mark.parametrize(
    ("first", "second"),
    [(Count(3, 5), Count(5, 5)), (Count(20, 20), Count(20, 20)), (Count(0, 3), Count(3, 3))],
)
def test_few_runs_or_few_failures_are_tested_exactly(first: Count, second: Count) -> None:
    found = compared(first, second)
    table = [[count.passed, count.runs - count.passed] for count in (first, second)]
    assert found.test == "Fisher's exact test"
    _, expected = stats.fisher_exact(table)
    assert found.p_value == pytest.approx(expected)
    assert found.interval.holds(found.difference)


def test_the_other_way_round_is_the_same_with_the_other_sign() -> None:
    one, other = compared(Count(60, 100), Count(75, 90)), compared(Count(75, 90), Count(60, 100))
    assert one.p_value == pytest.approx(other.p_value)
    assert (one.difference, one.interval.low) == pytest.approx((-other.difference, -other.interval.high))


def test_nothing_is_compared_with_no_runs() -> None:
    assert compare_unpaired(Count(0, 0), Count(1, 1)) is None
    assert compare_unpaired(Count(1, 1), Count(0, 0)) is None


def mcnemar_p(lost: int, gained: int) -> float:
    return float(binomtest(lost, lost + gained).pvalue)


def test_paired_power_is_the_chance_of_all_tables_that_the_exact_test_rejects() -> None:
    pairs, lost, gained, power = 30, 0.05, 0.35, 0.0
    for b, c in product(range(pairs + 1), repeat=2):
        if 0 < b + c <= pairs and mcnemar_p(b, c) <= 0.05:
            power += (
                comb(pairs, b)
                * comb(pairs - b, c)
                * lost**b
                * gained**c
                * (1 - lost - gained) ** (pairs - b - c)
            )
    assert paired_power(lost + gained, gained - lost, pairs) == pytest.approx(power)


def test_power_without_a_difference_is_at_most_the_level() -> None:
    assert paired_power(0.2, 0.0, 500) <= 0.05


def test_the_smallest_difference_is_one_that_the_test_finds_with_the_power() -> None:
    gain = paired_detectable(0.1, 920)
    assert gain
    assert gain == pytest.approx(0.03, abs=1e-4)
    assert paired_power(0.1, gain, 920) == pytest.approx(0.8, abs=1e-4)


def test_few_runs_may_show_nothing() -> None:
    assert paired_detectable(0.05, 20) is None


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (lambda: paired_detectable(10, 20), "discordance: expected a number between 0 and 1, got 10"),
        (lambda: paired_detectable(0.1, 20, power=80), "power: expected a number between 0 and 1, got 80"),
        (lambda: paired_power(0.85, 0.03, 10, alpha=5), "alpha: expected a number between 0 and 1, got 5"),
        (lambda: paired_detectable(0.1, 0), "pairs: expected at least 1, got 0"),
        (
            lambda: paired_power(0.02, 0.03, 100),
            "difference: expected at most the discordance, 0.02, got 0.03: "
            "two that differ so much disagree on at least as many tasks",
        ),
    ],
)
def test_arguments_out_of_range_are_rejected(find: Callable[[], object], text: str) -> None:
    assert complaint(ConfigError, find) == text
