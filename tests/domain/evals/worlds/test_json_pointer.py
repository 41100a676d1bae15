from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json
from toolreel_core.evals import at, steps, with_value

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


@pytest.mark.parametrize(
    ("before", "pointer", "after"),
    [
        ({}, "/a/b", {"a": {"b": "new"}}),
        ({"a": {"b": 1}, "c": 2}, "/a/b", {"a": {"b": "new"}, "c": 2}),
        ({"a": [1, 2]}, "/a/1", {"a": [1, "new"]}),
        ({"a": [1]}, "/a/1", {"a": [1, "new"]}),
        ({"a": [1]}, "/a/-/b", {"a": [1, {"b": "new"}]}),
        ({"a": [1]}, "/a/0/b", {"a": [1]}),
        ({"a": [1]}, "/a/2", {"a": [1]}),
        ({"a": "text"}, "/a/0", {"a": "text"}),
        ({"a": None}, "/a/b", {"a": None}),
    ],
)
def test_one_place_is_set_and_the_way_to_it_made_where_that_can_be(
    before: Json, pointer: str, after: Json
) -> None:
    assert with_value(before, steps(pointer), "new") == after
