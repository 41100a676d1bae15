from __future__ import annotations

import pytest
from returns.result import Failure, Result, Success

from toolreel_core._jsontext import Json
from toolreel_core.evals import ABSENT, Place, at, edited, patched, steps

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


DRAFT: Json = {"draft": {"list": ["a", "c"], "text": "x"}}


def op(name: Json, path: Json, value: Json = None, **more: Json) -> Json:
    return {"op": name, "path": path, "value": value, **more}


@pytest.mark.parametrize(
    ("operation", "draft"),
    [
        (op("set", "/draft/new/deep", 1), {"list": ["a", "c"], "text": "x", "new": {"deep": 1}}),
        (op("set", "/draft/list/0", 1), {"list": [1, "c"], "text": "x"}),
        (op("set", "/draft/text"), {"list": ["a", "c"], "text": None}),
        (op("delete", "/draft/text"), {"list": ["a", "c"]}),
        (op("append", "/draft/list", "d"), {"list": ["a", "c", "d"], "text": "x"}),
        (op("append", "/draft/new", "d"), {"list": ["a", "c"], "text": "x", "new": ["d"]}),
        (op("insert", "/draft/list", "b", index=1), {"list": ["a", "b", "c"], "text": "x"}),
        (op("insert", "/draft/new", "b"), {"list": ["a", "c"], "text": "x", "new": ["b"]}),
    ],
)
def test_each_operation_does_its_part(operation: Json, draft: Json) -> None:
    assert patched(DRAFT, [operation], under="/draft/") == Success({"draft": draft})


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ("set", "ops[1]: expected an object with op and path"),
        (op("move", "/draft/a"), "ops[1]: there is no op 'move'; use one of set, delete, append, insert"),
        (op("set", "/facts/a"), "ops[1]: path must begin with /draft/, got '/facts/a'"),
        (op("set", 7), "ops[1]: path must begin with /draft/, got 7"),
        (op("append", "/draft/text", "d"), "ops[1]: only a list can be added to"),
        (op("insert", "/draft/text", "d", index=0), "ops[1]: only a list can be added to"),
        (
            op("insert", "/draft/list", "d", index=9),
            "ops[1]: index must be a whole number from 0 to 2, got 9",
        ),
        (
            op("insert", "/draft/list", "d", index=True),
            "ops[1]: index must be a whole number from 0 to 2, got True",
        ),
        (
            op("set", "/draft/text/deep", 1),
            "ops[1]: there is no place 'deep' inside of a value that is no object and no list",
        ),
    ],
)
def test_one_operation_that_cannot_be_done_undoes_all(operation: Json, why: str) -> None:
    assert patched(DRAFT, [op("set", "/draft/first", 1), operation], under="/draft/") == Failure(why)
    assert DRAFT == {"draft": {"list": ["a", "c"], "text": "x"}}


def test_nothing_to_do_changes_nothing() -> None:
    assert patched(DRAFT, [], under="/draft/") == Success(DRAFT)


def test_a_tree_that_is_taken_away_whole_is_null() -> None:
    assert patched({"a": 1}, [op("delete", "")], under="") == Success(None)
