"""Searches for the smallest set that suffices."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core.evals._causes.delta_debugging import Answer, answered, halving, smallest_set

_ITEMS = tuple(range(7))
_sufficient = st.lists(st.frozensets(st.sampled_from(_ITEMS), min_size=1), min_size=1, max_size=4)


@given(wanted=_sufficient)
def test_the_smallest_set_is_found_where_more_of_it_does_no_harm(wanted: list[frozenset[int]]) -> None:
    found = smallest_set(_ITEMS, lambda some: "yes" if any(one <= {*some} for one in wanted) else "no")
    assert frozenset(found.items) in wanted
    assert len(found.items) == min(map(len, wanted))
    assert found.smallest
    assert {frozenset({item}) for item in found.alone} == {one for one in wanted if len(one) == 1}


@given(
    true=st.sets(st.frozensets(st.sampled_from(_ITEMS), min_size=1)),
    unknown=st.sets(st.frozensets(st.sampled_from(_ITEMS), min_size=1)),
)
def test_whatever_the_answers_are_the_result_is_true_and_no_single_item_can_be_left_out(
    true: set[frozenset[int]], unknown: set[frozenset[int]]
) -> None:
    asked = list[tuple[int, ...]]()

    def ask(some: tuple[int, ...]) -> Answer:
        asked.append(some)
        return "yes" if {*some} in true else "undecided" if {*some} in unknown else "no"

    found = smallest_set(_ITEMS, ask)
    assert len(asked) == len(set(asked))
    assert found.items == _ITEMS or {*found.items} in true
    smaller = {some for size in range(1, len(found.items)) for some in combinations(_ITEMS, size)}
    assert not any({*some} in true for some in smaller)
    assert found.smallest is not any({*some} in unknown - true for some in smaller)
    assert found.undecided == sum({*some} in unknown - true for some in asked if len(some) < len(_ITEMS))


def test_with_too_many_sets_to_ask_for_the_result_is_minimal_and_says_no_more() -> None:
    items = tuple(range(40))
    wanted = {3, 17, 31}
    asked = list[int]()

    def ask(some: tuple[int, ...]) -> Answer:
        asked.append(len(some))
        return "yes" if wanted <= {*some} else "no"

    found = smallest_set(items, ask, most=100)
    assert found.items == (3, 17, 31)
    assert not found.smallest
    assert len(asked) < 150


def test_halving_goes_down_to_nothing_where_nothing_is_needed() -> None:
    assert answered(halving("abcd"), lambda _: "yes") == ()
    assert answered(halving(""), lambda _: "yes") == ()


@given(wanted=st.frozensets(st.integers(0, 30)))
def test_halving_alone_finds_what_is_wanted(wanted: frozenset[int]) -> None:
    kept = answered(halving(range(31)), lambda some: "yes" if wanted <= {*some} else "no")
    assert {*kept} == wanted
