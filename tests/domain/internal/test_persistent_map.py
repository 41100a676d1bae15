from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._internal.persistent_map import HANDFUL, Ledger

entries = st.lists(st.tuples(st.text("abc", max_size=3), st.integers()), max_size=40)


def written(rows: list[tuple[str, int]]) -> Ledger[int]:
    ledger: Ledger[int] = Ledger()
    for key, value in rows:
        ledger = ledger.set(key, value)
    return ledger


@given(entries, st.text("abc", max_size=3))
def test_a_ledger_holds_what_a_dict_would(rows: list[tuple[str, int]], key: str) -> None:
    ledger, expected = written(rows), dict(rows)
    assert dict(ledger) == expected
    assert {each: ledger[each] for each in ledger} == expected
    assert ledger.get(key) == expected.get(key)
    assert (key in ledger) == (key in expected)
    assert (len(ledger), bool(ledger)) == (len(expected), bool(expected))


@given(entries)
def test_two_ledgers_are_equal_if_their_entries_are_however_they_were_written(
    rows: list[tuple[str, int]],
) -> None:
    one, other = written(rows), Ledger.of(dict(rows))
    assert one == other
    assert hash(one) == hash(other)
    assert one.set("z", 1) != other


@given(entries)
def test_few_entries_stand_by_themselves(rows: list[tuple[str, int]]) -> None:
    assert written(rows).alone == len(rows) % (HANDFUL + 1)


def test_versions_that_go_on_from_one_do_not_disturb_each_other() -> None:
    rows = [(f"{number}", number) for number in range(3 * HANDFUL)]
    for length in range(len(rows)):
        before = written(rows[:length])
        one, other = before.set("one", 1), before.set("other", 2)
        assert dict(before) == dict(rows[:length])
        assert (dict(one), dict(other)) == (dict(before) | {"one": 1}, dict(before) | {"other": 2})


@given(entries)
def test_each_layer_is_at_least_twice_as_large_as_the_next(rows: list[tuple[str, int]]) -> None:
    sizes = [len(layer) for layer in written(rows).layers]
    assert all(larger >= 2 * smaller for larger, smaller in pairwise(sizes))


def test_a_ledger_stays_as_it_was_when_an_entry_is_set() -> None:
    before = Ledger.of({"a": 1})
    before.set("a", 2)
    assert before == Ledger.of({"a": 1})
    assert before != {"a": 1}


def test_a_key_that_is_not_there_is_an_error_only_where_it_is_demanded() -> None:
    empty: Ledger[int] = Ledger()
    assert empty.get("a") is None
    with pytest.raises(KeyError):
        empty["a"]


def test_a_ledger_shows_its_entries() -> None:
    assert repr(Ledger.of({"a": 1}).set("b", 2)) == "Ledger({'a': 1, 'b': 2})"
