from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.evals import compare_trials, stratified_bounds
from toolreel_core.evals import Count, Difference, PairedCell, Pairs, runs_to_show


def compared(*pairs: Pairs) -> Difference:
    found = compare_trials(PairedCell(f"scenario {at}", "model", each) for at, each in enumerate(pairs))
    assert found
    return found


def test_one_scenario_can_show_where_it_broke() -> None:
    found = compared(Pairs(both=0, lost=20, gained=0, neither=0))
    assert (found.difference, found.scenarios, found.runs) == (-1, 1, 20)
    assert found.p_value < 0.001
    assert found.interval.high < -0.7
    assert (found.about, found.test) == ("these-scenarios", "Fisher's exact test")


def test_trials_are_not_paired_by_their_number() -> None:
    assert compared(Pairs(10, 5, 5, 0)).p_value == compared(Pairs(5, 10, 10, 0)).p_value == 1


@pytest.mark.parametrize(
    ("first", "second", "alpha", "bounds"),
    [
        ((496, 580), (503, 580), 0.05, (-0.027864663997349194, 0.05201124273683357)),
        ((60, 100), (75, 90), 0.05, (0.10543807799948177, 0.3498245240835445)),
        ((3, 5), (5, 5), 0.01, (-0.25258628042158415, 0.8313438019805679)),
        ((0, 3), (3, 3), 0.05, (0.2059232824597782, 1.0)),
    ],
)
def test_one_cell_has_newcombes_interval(
    first: tuple[int, int], second: tuple[int, int], alpha: float, bounds: tuple[float, float]
) -> None:
    # confint_proportions_2indep(*second, *first, method="newcomb", compare="diff", alpha=alpha)
    assert stratified_bounds([Count(*first)], [Count(*second)], alpha) == pytest.approx(bounds, rel=1e-12)


def test_newcombes_own_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17:873, table II: 56/70 and 48/80 by method 10.
    low, high = stratified_bounds([Count(48, 80)], [Count(56, 70)], 0.05)
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


@pytest.mark.parametrize("pairs", [Pairs(5, 0, 0, 0), Pairs(0, 0, 0, 5)])
@pytest.mark.parametrize("cells", [1, 4, 30])
def test_cells_that_agree_leave_room_for_chance(pairs: Pairs, cells: int) -> None:
    found = compared(*[pairs] * cells)
    squared = 1.959963984540054**2
    room = squared / (5 * cells + squared)
    assert (found.interval.low, found.interval.high) == pytest.approx((-room, room))


@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_a_margin_takes_the_runs_that_the_gate_says(margin: float) -> None:
    least = runs_to_show(margin)
    assert compared(*[Pairs(1, 0, 0, 0)] * least).interval.low >= -margin
    assert compared(*[Pairs(1, 0, 0, 0)] * (least - 1)).interval.low < -margin


def test_cells_of_different_rates_are_less_variable_than_runs_of_one_rate() -> None:
    apart = compared(*[Pairs(20, 0, 0, 0), Pairs(0, 0, 0, 20)] * 5)
    alike = compared(*[Pairs(10, 0, 0, 10)] * 10)
    assert 0 < apart.interval.width < alike.interval.width


TABLE = st.builds(Pairs, *[st.integers(0, 5)] * 4).filter(lambda pairs: pairs.runs > 0)


@given(st.lists(TABLE, min_size=1, max_size=6))
def test_the_other_way_round_it_is_the_same_with_the_other_sign(tables: list[Pairs]) -> None:
    there = compared(*tables)
    back = compared(*(Pairs(each.both, each.gained, each.lost, each.neither) for each in tables))
    assert back.p_value == pytest.approx(there.p_value)
    ends = (there.difference, there.interval.low, there.interval.high)
    assert ends == pytest.approx((-back.difference, -back.interval.high, -back.interval.low))
    assert there.interval.low <= there.difference <= there.interval.high
    assert there.smallest_p <= there.p_value + 1e-12


def test_nothing_is_compared_without_pairs() -> None:
    assert compare_trials([]) is None
    assert compare_trials([PairedCell("a", "m", Pairs(0, 0, 0, 0))]) is None
