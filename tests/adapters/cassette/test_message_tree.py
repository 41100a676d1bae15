from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from toolreel.cassette import MessageTree, message_rope
from toolreel_core._conversation import Rope
from toolreel_core._jsontext import Json, canonical


def folded(*conversations: list[Json]) -> list[list[Json]]:
    tree = MessageTree()
    ends = [tree.add(messages) for messages in conversations]
    return [tree.fold(end) for end in ends]


def test_a_list_that_goes_on_begins_with_the_earlier_one() -> None:
    first, second, third = folded(["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d", "e"])
    assert first == ["a", "b"]
    assert second == [first, "c"]
    assert third == [second, "d", "e"]
    assert second[0] is first
    assert third[0] is second


def test_the_same_list_again_is_the_same_object() -> None:
    first, again = folded(["a"], ["a"])
    assert again is first


def test_what_two_lists_share_is_nested_in_the_first_although_it_never_went_out_alone() -> None:
    first, second = folded(["a", "b", "reminder 1"], ["a", "b", "c", "reminder 2"])
    assert first == [["a", "b"], "reminder 1"]
    assert second == [["a", "b"], "c", "reminder 2"]
    assert second[0] is first[0]


def test_lists_with_nothing_in_common_are_left_as_they_are() -> None:
    assert folded(["a", "b"], ["c"]) == [["a", "b"], ["c"]]


def test_numbers_that_only_python_takes_for_equal_are_kept_apart() -> None:
    assert json.dumps(folded([1], [1.0, 2], [True, 3])) == "[[1], [1.0, 2], [true, 3]]"


def test_every_shared_list_has_the_digest_of_its_content() -> None:
    tree = MessageTree()
    one, other = tree.add(["a", "b"]), tree.add(["a", "b", "c"])
    assert tree.fold(other) == [["a", "b"], "c"]
    tree.fold(one)
    assert tree.shared == [(["a", "b"], one.digest), ([["a", "b"], "c"], other.digest)]
    assert one.digest == MessageTree().add(["a", "b"]).digest
    assert one.digest != MessageTree().add(["b", "a"]).digest


MESSAGES: st.SearchStrategy[list[list[Json]]] = st.lists(
    st.lists(st.sampled_from(["a", "b", {"role": "user"}]), min_size=1, max_size=6), min_size=1, max_size=8
)


@given(conversations=MESSAGES)
def test_folding_loses_nothing(conversations: list[list[Json]]) -> None:
    known: dict[int, Rope] = {}
    lists = folded(*conversations)
    for messages, written in zip(conversations, lists, strict=True):
        assert [*message_rope(written, known)] == [canonical(message) for message in messages]


def test_twelve_hundred_turns_fold_without_recursion() -> None:
    turns: list[list[Json]] = [[*range(length)] for length in range(1, 1_200)]
    lists = folded(*turns)
    assert len(lists[-1]) == 2
    assert [*message_rope(lists[-1], {})] == [str(number) for number in range(1_199)]


def test_a_list_that_holds_lists_elsewhere_keeps_them() -> None:
    assert [*message_rope([["a"], ["b"]], {})] == ['"a"', '["b"]']
    assert [*message_rope([[]], {})] == []
