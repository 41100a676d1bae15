from __future__ import annotations

import pytest
from returns.result import Failure, Result, Success

from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._worlds.json_pointer import ABSENT, Place, at, edited, steps

TREE: Json = {"draft": {"a/b": {"~": 1}, "list": ["x", {"y": 2}], "null": None, "text": "abc"}}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", TREE),
        ("/draft/a~1b/~0", 1),
        ("/draft/list/0", "x"),
        ("/draft/list/1/y", 2),
        ("/draft/null", None),
        ("/draft/none", None),
        ("/draft/none/deeper", None),
        ("/draft/list/2", None),
        ("/draft/list/-", None),
        ("/draft/list/x", None),
        ("/draft/list/²", None),
        ("/draft/list/99999", None),
        ("/draft/text/0", None),
        ("/draft/null/0", None),
    ],
)
def test_a_pointer_finds_what_is_there_and_nothing_elsewhere(pointer: str, value: Json) -> None:
    assert at(TREE, pointer) == value


def test_a_pointer_goes_through_keys_and_indices() -> None:
    assert steps("") == ()
    assert steps("/") == ("",)
    assert steps("/a~01/b") == ("a~1", "b")


def put(place: Place) -> Result[Place, str]:
    """What was there, wrapped up."""
    return Success(["new", None if place is ABSENT else "old"])


def gone(_: Place) -> Result[Place, str]:
    return Success(ABSENT)


@pytest.mark.parametrize(
    ("before", "pointer", "after"),
    [
        ({}, "/a/b", {"a": {"b": ["new", None]}}),
        ({"a": {"b": 1}, "c": 2}, "/a/b", {"a": {"b": ["new", "old"]}, "c": 2}),
        ({"a": [1, 2]}, "/a/1", {"a": [1, ["new", "old"]]}),
        ({"a": [1]}, "/a/1", {"a": [1, ["new", None]]}),
        ({"a": [1]}, "/a/-", {"a": [1, ["new", None]]}),
        ({"a": [1]}, "/a/0/b", None),
    ],
)
def test_one_place_is_changed_and_the_way_to_it_made(before: Json, pointer: str, after: Json) -> None:
    done = edited(before, steps(pointer), put)
    if after is None:
        assert done == Failure("there is no place 'b' inside of a value that is no object and no list")
    else:
        assert done == Success(after)


def test_what_is_taken_away_leaves_nothing_behind() -> None:
    assert edited({"a": {"b": 1}}, ("a", "b"), gone) == Success({"a": {}})
    assert edited({"a": [1, 2]}, ("a", "0"), gone) == Success({"a": [2]})
    assert edited({"a": {}}, ("a", "b"), gone) == Success({"a": {}})


def test_a_list_has_no_place_beyond_its_end() -> None:
    assert edited({"a": [1]}, ("a", "3"), put) == Failure("the list has no index '3'")
    assert edited({"a": "text"}, ("a", "0"), put) == Failure(
        "there is no place '0' inside of a value that is no object and no list"
    )
