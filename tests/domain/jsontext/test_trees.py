from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._jsontext.trees import as_tree, calls_of, is_blank, items_of, tree_at


@pytest.mark.parametrize("value", [None, True, 3, "text", [{}]])
def test_what_is_no_object_counts_as_an_empty_one(value: Json) -> None:
    assert as_tree(value) == {}
    assert tree_at({"a": value}, "a") == {}
    assert tree_at({"a": value}, "a", "b") == {}


def test_an_object_is_found_at_the_end_of_its_path() -> None:
    assert as_tree({"a": 1}) == {"a": 1}
    assert tree_at({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert tree_at({"a": 1}) == {"a": 1}


@pytest.mark.parametrize("value", [None, True, 3, "text", {"0": 1}])
def test_what_is_no_list_counts_as_an_empty_one(value: Json) -> None:
    assert list(items_of({"a": value}, "a")) == []
    assert list(items_of({}, "a")) == []


def test_a_list_is_found_under_its_key() -> None:
    assert items_of({"a": [1, "b"]}, "a") == [1, "b"]


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ({"role": "assistant", "tool_calls": [1]}, [1]),
        ({"role": "assistant", "tool_calls": {}}, []),
        ({"role": "user", "tool_calls": [1]}, []),
        ({"tool_calls": [1]}, []),
    ],
)
def test_only_the_assistant_calls(message: Tree, calls: list[Json]) -> None:
    assert list(calls_of(message)) == calls


@pytest.mark.parametrize(
    ("value", "blank"),
    [
        (None, True),
        ("", True),
        (" \n", True),
        ("x", False),
        (0, False),
        (False, False),
        ([], False),
        ({}, False),
    ],
)
def test_blank_is_what_shows_nothing(value: Json, blank: bool) -> None:
    assert is_blank(value) is blank
