"""Bisected runs, their tallies, and searches for the smallest set that suffices."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import canonical
from toolreel_core.evals import Bisected, Bisection, Cell, Key, Minimal, TrialAnswer, Verdict, smallest_set

CELL = Cell("model", "default", "raw", "best_effort", "happy_path")
PASS, LOST, VOID = (
    Verdict("pass"),
    Verdict("fail", "loop.max_turns"),
    Verdict("void", "transport.timeout"),
)
A, B, C = (Key("config", (name,), canonical(1), canonical(2)) for name in ("a", "b", "c"))


def run(
    first: Verdict | None, second: Verdict | None, found: Minimal[Key] | None = None, why: str = ""
) -> Bisected:
    return Bisected("key", CELL, 1, first, second, why, (A, B, C), found)


@pytest.mark.parametrize(
    ("first", "second", "fate", "reason"),
    [
        (LOST, PASS, "turned", ""),
        (PASS, LOST, "broken", ""),
        (PASS, PASS, "won_already", ""),
        (LOST, LOST, "lost_again", ""),
        (VOID, PASS, "undecided", "it is void: transport.timeout"),
        (PASS, VOID, "undecided", "it is void: transport.timeout"),
    ],
)
def test_a_run_becomes_what_its_two_verdicts_make_of_it(
    first: Verdict, second: Verdict, fate: str, reason: str
) -> None:
    assert (run(first, second).fate, run(first, second).reason) == (fate, reason)


def test_without_a_verdict_it_is_undecided_and_says_why() -> None:
    for first, second in ((None, PASS), (PASS, None)):
        one = run(first, second, why="not recorded")
        assert (one.fate, one.reason) == ("undecided", "not recorded")
    assert run(None, None).reason == ""


def test_keys_are_counted_alone_and_together() -> None:
    runs = (
        run(LOST, PASS, Minimal((A,), (A,), smallest=True, undecided=0)),
        run(LOST, PASS, Minimal((A, B), (), smallest=True, undecided=0)),
        run(LOST, PASS, Minimal((A,), (A,), smallest=True, undecided=0)),
        run(PASS, PASS),
        run(None, PASS, why="no answer"),
        run(None, PASS, why="no answer"),
    )
    found = Bisection("raw", "production", runs)
    tallies = {str(tally.key): (tally.alone, tally.together, tally.runs) for tally in found.tallies}
    assert tallies == {"config.a": (2, 1, 3), "config.b": (0, 1, 1)}
    assert [*tallies] == ["config.a", "config.b"]
    assert [tally.partners for tally in found.tallies] == [(), (A,)]
    assert found.idle == ("config.c",)
    assert found.reasons == (("no answer", 2),)
    assert len(found.of("turned")) == 3


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

    def ask(some: tuple[int, ...]) -> TrialAnswer:
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

    def ask(some: tuple[int, ...]) -> TrialAnswer:
        asked.append(len(some))
        return "yes" if wanted <= {*some} else "no"

    found = smallest_set(items, ask, most=100)
    assert found.items == (3, 17, 31)
    assert not found.smallest
    assert len(asked) < 150
