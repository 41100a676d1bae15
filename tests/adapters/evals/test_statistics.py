"""Intervals, differences and power: against closed forms, published figures and what must hold of any
sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from tests.samples import worked
from toolreel.evals import (
    PairedCell,
    Rate,
    RateDifference,
    detectable_difference,
    holm,
    mean_bounds,
    p_value_of_break,
    p_value_of_mean,
    paired_rate_difference,
    pass_hat,
    power_of_test,
    rate_of,
    runs_to_show_margin,
    wilson_bounds,
)
from toolreel_core.evals import SAMPLE, THESE, About, Cell, Trial

RATES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@pytest.mark.parametrize(("passed", "clusters"), [(0, 3), (1, 1), (4, 4), (18, 20), (20, 20), (150, 200)])
def test_clusters_that_pass_or_fail_as_a_whole_have_clopper_and_pearsons_interval(
    passed: int, clusters: int
) -> None:
    found = mean_bounds([1.0] * passed + [0.0] * (clusters - passed))
    exact = stats.binomtest(passed, clusters).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.floats(0.01, 0.99), st.integers(1, 100))
def test_where_clusters_agree_no_valid_interval_could_be_narrower(rate: float, clusters: int) -> None:
    # A population in which a share fails (passes) altogether, and the others are at this rate, shows nothing
    # but this rate with a chance of 2.5 %: its mean may not be left out more often than that.
    kept = 0.025 ** (1 / clusters)
    assert mean_bounds([rate] * clusters) == pytest.approx((rate * kept, 1 - (1 - rate) * kept), abs=1e-6)


@given(RATES, st.data(), st.randoms(use_true_random=False))
def test_a_better_result_never_has_a_lower_bound_and_the_order_says_nothing(
    rates: list[float], data: st.DataObject, random: Random
) -> None:
    better = [data.draw(st.floats(rate, 1)) for rate in rates]
    worse, now = mean_bounds(rates), mean_bounds(better)
    assert now[0] >= worse[0] - 1e-9
    assert now[1] >= worse[1] - 1e-9
    assert mean_bounds(random.sample(rates, len(rates))) == pytest.approx(worse, abs=1e-9)
    nudged = [min(1.0, rate + 1e-6) for rate in rates]
    assert mean_bounds(nudged) == pytest.approx(worse, abs=1e-4), "a tiny change makes no jump"


@given(RATES)
@example([3.872446327848866e-12])
@example([1e-300])
def test_the_mean_is_inside_and_no_sample_is_taken_for_everything(rates: Sequence[float]) -> None:
    low, high = mean_bounds(rates)
    assert low - 1e-9 <= sum(rates) / len(rates) <= high + 1e-9
    # What nobody has run: one unseen cluster can weigh as much as that.
    assert high - low >= 1 - 0.025 ** (1 / len(rates)) - 1e-9


@given(RATES, st.floats(0.01, 0.99))
def test_the_p_value_of_a_mean_is_the_level_at_which_the_interval_ends_there(
    rates: Sequence[float], mean: float
) -> None:
    low, high = mean_bounds(rates)
    if abs(mean - low) > 1e-6 and abs(mean - high) > 1e-6:
        assert (p_value_of_mean(rates, mean) <= 0.05) is not (low <= mean <= high)


# Reference values are those of statsmodels 0.15.0 on SciPy 1.17.1, as printed by the calls next to them. It
# is no dependency of the tests, because it would bring pandas: 150 MB to compare a few numbers.
@pytest.mark.parametrize(("passed", "runs", "alpha", "bounds"), worked("wilsons interval", "evaluations"))
def test_wilsons_interval(passed: int, runs: int, alpha: float, bounds: list[float]) -> None:
    # proportion_confint(passed, runs, alpha, method="wilson")
    assert wilson_bounds(passed, runs, alpha) == pytest.approx(bounds, rel=1e-13)
    assert wilson_bounds(0, runs)[0] == 0
    assert wilson_bounds(runs, runs)[1] == 1


def trials(scenario: str, passed: int, runs: int, model: str = "m") -> list[Trial]:
    cell = Cell(model, "default", "raw", scenario)
    return [Trial(cell, at, "pass" if at <= passed else "fail", lacking=False) for at in range(1, runs + 1)]


def rated(*groups: Iterable[Trial]) -> Rate:
    found = rate_of(one for group in groups for one in group)
    assert found
    return found


def test_each_scenario_counts_once_and_in_it_each_cell() -> None:
    found = rated(trials("a", 20, 20), trials("b", 1, 4), trials("a", 0, 4, "other"))
    assert found.rate == ((1 + 0) / 2 + 0.25) / 2
    assert (found.passed, found.of, found.scenarios) == (21, 28, 2)
    assert found.about == "Gaffke over scenarios: about scenarios such as these, on these models"
    void = [Trial(Cell("m", "default", "raw", "c"), 1, "void")]
    assert rated(trials("a", 20, 20), trials("b", 1, 4), trials("a", 0, 4, "other"), void) == found
    assert rate_of(void) is None


def test_one_scenario_has_wilsons_interval_of_its_runs() -> None:
    found = rated(trials("a", 15, 20))
    assert (found.low, found.high) == pytest.approx(wilson_bounds(15, 20))
    assert found.about == "Wilson: about this scenario, on this model"
    several = rated(*(trials("a", 3, 5, model) for model in "wxyz"))
    assert (several.low, several.high) == pytest.approx(wilson_bounds(12, 20))
    uneven = [rated(trials("a", 50, 100), trials("a", *one, "other")) for one in ((1, 2), (5, 10), (50, 100))]
    widths = [one.high - one.low for one in uneven]
    assert widths == sorted(widths, reverse=True), "a mean of cells is as sure as its smallest ones"


def test_a_better_result_never_has_a_lower_bound_and_more_trials_no_narrower_interval() -> None:
    """400 of 400 on four scenarios once had a lower bound of 51 %, and 396 of 400 one of 97.5 %."""
    bounds = [rated(*(trials(name, passed, 100) for name in "abcd")).low for passed in range(0, 101, 4)]
    assert bounds == sorted(bounds)
    assert max(after - before for before, after in pairwise(bounds)) < 0.03
    few, many = (rated(*(trials(name, 4 * k, 5 * k) for name in "abcd")) for k in (1, 20))
    assert (few.low, few.high) == (many.low, many.high)


def test_pass_hat_is_over_cells_that_have_enough_trials() -> None:
    rows = [*trials("a", 5, 5), *trials("b", 3, 5), *trials("c", 2, 2)]
    assert pass_hat(rows, 3) == (0.55, 2, 1)
    assert pass_hat(rows, 6) == (None, 0, 3)


def scenarios(*pairs: tuple[int, int, int, int]) -> list[PairedCell]:
    return [PairedCell(f"scenario {at}", "model", *each) for at, each in enumerate(pairs)]


def compared(cells: Iterable[PairedCell], about: About = SAMPLE) -> RateDifference:
    found = paired_rate_difference(cells, about)
    assert found
    return found


def test_a_scenario_counts_once_however_often_and_under_whatever_it_was_run() -> None:
    gained, same = (0, 0, 4, 0), (4, 0, 0, 0)
    once = compared(scenarios(*[gained] * 3, *[same] * 5))
    often = compared(
        PairedCell(name, model, *pairs)
        for name, pairs in zip("abcdefgh", [gained] * 3 + [same] * 5, strict=True)
        for model in ("one", "two", "three")
    )
    assert (often.p_value, often.low) == (once.p_value, once.low)
    assert often.difference == pytest.approx(3 / 8)
    assert (once.scenarios, once.runs, often.runs) == (8, 32, 96)
    assert compared(scenarios((0, 0, 1, 0), (9, 0, 0, 0))).difference == 0.5, "not over pairs"


@pytest.mark.parametrize("many", range(1, 9))
def test_a_collapse_has_the_smallest_p_that_so_many_scenarios_allow(many: int) -> None:
    found = compared(scenarios(*[(0, 20, 0, 0)] * many))
    assert found.p_value == pytest.approx(min(1.0, 2.0 ** (1 - many)))
    assert found.smallest_p == pytest.approx(found.p_value)


@pytest.mark.parametrize("pairs", [(5, 0, 0, 0), (500, 0, 0, 0), (0, 0, 0, 2)])
def test_what_agrees_leaves_room_for_what_breaks(pairs: tuple[int, int, int, int]) -> None:
    sample = compared(scenarios(*[pairs] * 20))
    assert (sample.difference, sample.p_value) == (0, 1)
    assert sample.low == pytest.approx(0.025 ** (1 / 20) - 1)
    assert sample.high == pytest.approx(-sample.low)
    squared = 1.959963984540054**2
    room = squared / (20 * sum(pairs) + squared)
    alone = compared(scenarios(*[pairs] * 20), THESE)
    assert (alone.low, alone.high) == pytest.approx((-room, room))


@pytest.mark.parametrize(("first", "second", "bounds"), worked("newcombes interval", "evaluations"))
def test_one_cell_has_newcombes_interval(first: list[int], second: list[int], bounds: list[float]) -> None:
    # confint_proportions_2indep(*second, *first, method="newcomb", compare="diff", alpha=0.05)
    lost = max(0, first[0] - second[0])
    both = first[0] - lost
    cell = (both, lost, second[0] - both, first[1] - both - lost - second[0] + both)
    found = compared(scenarios(cell), THESE)
    assert (found.low, found.high) == pytest.approx(bounds, rel=1e-9)


TABLE = st.tuples(*[st.integers(0, 5)] * 4).filter(any)


@given(st.lists(TABLE, min_size=1, max_size=6), st.sampled_from([SAMPLE, THESE]))
def test_the_interval_and_the_p_value_agree_both_ways_round(
    pairs: list[tuple[int, int, int, int]], about: About
) -> None:
    there = compared(scenarios(*pairs), about)
    back = compared(scenarios(*((both, gained, lost, none) for both, lost, gained, none in pairs)), about)
    assert back.p_value == pytest.approx(there.p_value, abs=1e-6)
    ends = (there.difference, there.low, there.high)
    assert ends == pytest.approx((-back.difference, -back.high, -back.low), abs=1e-6)
    assert there.low - 1e-9 <= there.difference <= there.high + 1e-9
    if min(abs(there.low), abs(there.high)) > 1e-6:
        assert (there.p_value <= 0.05) is not (there.low <= 0 <= there.high)
    worse = compared(scenarios((0, sum(pairs[0]), 0, 0), *pairs[1:]), SAMPLE)
    assert worse.low <= compared(scenarios(*pairs), SAMPLE).low + 1e-9, "a further loss never raises it"


def test_nothing_is_compared_without_pairs() -> None:
    assert paired_rate_difference([]) is None
    assert paired_rate_difference(scenarios((0, 0, 0, 0)), THESE) is None


@pytest.mark.parametrize(("margin", "sample", "these"), [(0.02, 183, 189), (0.1, 36, 35)])
def test_how_many_more_would_show_a_margin(margin: float, sample: int, these: int) -> None:
    few = scenarios(*[(3, 0, 0, 0)] * 4)
    assert runs_to_show_margin(few, margin, SAMPLE) == sample
    assert runs_to_show_margin(scenarios((30, 0, 0, 0)), margin, THESE) == pytest.approx(these, abs=1)
    for many, shown in ((sample, True), (sample - 1, False)):
        assert (compared(scenarios(*[(3, 0, 0, 0)] * many)).low >= -margin) is shown
    assert runs_to_show_margin(scenarios((0, 9, 0, 0), (9, 0, 0, 0)), margin, SAMPLE) is None


def test_one_cell_that_breaks_is_seen_by_fishers_test() -> None:
    assert p_value_of_break(PairedCell("", "", 0, 5, 0, 0)) == pytest.approx(1 / 252)
    assert p_value_of_break(PairedCell("", "", 0, 0, 5, 0)) == 1


def test_holm_never_ranks_a_weaker_finding_above_a_stronger_one() -> None:
    # multipletests([0.01, 0.04, 0.03, 0.005], method="holm")[1]
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    assert holm({}) == {}


def test_the_power_that_is_promised_is_found() -> None:
    for count, trials_ in ((20, 5), (60, 10)):
        size = detectable_difference(count, trials_)
        assert size
        random = np.random.default_rng(7)
        found = 0
        for _ in range(300):
            drawn = np.clip(random.normal(size, (0.15**2 + 0.1 / trials_) ** 0.5, count), -1, 1)
            found += p_value_of_mean([(1 + each) / 2 for each in drawn]) <= 0.05
        assert found / 300 == pytest.approx(0.8, abs=0.075)
    assert power_of_test(0.0, 20, 5) <= 0.025
    assert [detectable_difference(many, 0.01) for many in range(1, 6)] == [None] * 5, "however exact they are"
    sizes = [detectable_difference(many, 10) or 1.0 for many in (6, 12, 20, 60)]
    assert sizes == sorted(sizes, reverse=True)
