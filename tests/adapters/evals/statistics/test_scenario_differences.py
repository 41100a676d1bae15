from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.evals import compare_scenarios
from toolreel_core.evals import (
    Difference,
    PairedCell,
    Pairs,
    clusters_to_show,
    smallest_flips_p,
)


def compared(cells: Iterable[PairedCell]) -> Difference:
    found = compare_scenarios(cells)
    assert found
    return found


def scenarios(*pairs: Pairs) -> list[PairedCell]:
    return [PairedCell(f"scenario {at}", "model", each) for at, each in enumerate(pairs)]


def test_a_scenario_counts_once_however_often_and_under_whatever_it_was_run() -> None:
    gained, same = Pairs(0, 0, 4, 0), Pairs(4, 0, 0, 0)
    once = compared(scenarios(*[gained] * 3, *[same] * 5))
    cells = [
        PairedCell(name, model, pairs)
        for name, pairs in zip("abcdefgh", [gained] * 3 + [same] * 5, strict=True)
        for model in ("one", "two", "three")
    ]
    often = compared(cells)
    assert (often.p_value, often.interval, often.difference) == (once.p_value, once.interval, 3 / 8)
    assert (once.p_value, once.scenarios, once.models) == (0.25, 8, 0)
    assert (once.runs, often.runs) == (32, 96)


def test_the_difference_is_the_mean_over_scenarios_not_over_pairs() -> None:
    found = compared(scenarios(Pairs(0, 0, 1, 0), Pairs(9, 0, 0, 0)))
    assert found.difference == 0.5


def test_scenarios_that_agree_leave_room_for_one_that_breaks() -> None:
    for pairs in (Pairs(5, 0, 0, 0), Pairs(500, 0, 0, 0), Pairs(0, 0, 0, 2)):
        found = compared(scenarios(*[pairs] * 20))
        assert (found.difference, found.p_value) == (0, 1)
        assert found.interval.low == pytest.approx(0.025 ** (1 / 20) - 1)
        assert found.interval.high == pytest.approx(-found.interval.low)


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1])
def test_a_margin_takes_the_scenarios_that_the_gate_says(margin: float) -> None:
    least = clusters_to_show(margin)
    assert compared(scenarios(*[Pairs(3, 0, 0, 0)] * least)).interval.low >= -margin
    assert compared(scenarios(*[Pairs(3, 0, 0, 0)] * (least - 1))).interval.low < -margin


@pytest.mark.parametrize("many", range(1, 9))
def test_a_collapse_has_the_smallest_p_that_so_many_scenarios_allow(many: int) -> None:
    found = compared(scenarios(*[Pairs(0, 20, 0, 0)] * many))
    assert found.p_value == found.smallest_p == smallest_flips_p(many)


def square(models: int, count: int = 12) -> list[PairedCell]:
    """Every scenario gains, but on one half of the models only; on the other half it loses as much."""
    gained, lost = Pairs(0, 0, 2, 0), Pairs(0, 1, 0, 1)
    return [
        PairedCell(f"scenario {at}", f"model {of}", gained if of % 2 else lost)
        for at in range(count)
        for of in range(models)
    ]


def test_with_many_models_a_difference_must_hold_for_both() -> None:
    few, many = compared(square(5)), compared(square(6))
    assert few.p_value == smallest_flips_p(12)
    assert (few.models, few.test) == (0, "exact sign flips by scenario")
    assert many.p_value > 0.5
    assert (many.models, many.test) == (6, "exact sign flips by scenario and by model, and of both")
    assert many.smallest_p == smallest_flips_p(6)
    assert many.interval.width > 2 * few.interval.width


def test_models_that_are_compared_are_no_sample() -> None:
    assert compared(PairedCell(each.scenario, "", each.pairs) for each in square(6)).models == 0


TABLE = st.builds(Pairs, *[st.integers(0, 5)] * 4).filter(lambda pairs: pairs.runs > 0)


@given(st.lists(TABLE, min_size=1, max_size=6))
def test_the_other_way_round_it_is_the_same_with_the_other_sign(tables: list[Pairs]) -> None:
    there = compared(scenarios(*tables))
    back = compared(scenarios(*(Pairs(one.both, one.gained, one.lost, one.neither) for one in tables)))
    assert back.p_value == pytest.approx(there.p_value)
    ends = (there.difference, there.interval.low, there.interval.high)
    assert ends == pytest.approx((-back.difference, -back.interval.high, -back.interval.low), abs=1e-6)
    assert there.smallest_p <= there.p_value + 1e-12


@given(st.lists(TABLE, min_size=1, max_size=6))
def test_a_further_loss_never_raises_the_interval(tables: list[Pairs]) -> None:
    worse = [Pairs(0, tables[0].runs, 0, 0), *tables[1:]]
    before, after = compared(scenarios(*tables)), compared(scenarios(*worse))
    assert after.interval.low <= before.interval.low + 1e-9
    assert after.interval.high <= before.interval.high + 1e-9


def test_nothing_is_compared_without_pairs() -> None:
    assert compare_scenarios([]) is None
    assert compare_scenarios(scenarios(Pairs(0, 0, 0, 0))) is None
