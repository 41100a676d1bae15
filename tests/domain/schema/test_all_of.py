from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import json_objects
from toolreel_core._jsontext.canonical import Tree, canonical
from toolreel_core._schema.all_of import with_all_of, with_properties_of

TEXT: Tree = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "together"),
    [
        (
            {"type": "string", "allOf": [{"minLength": 1}, {"maxLength": 2}]},
            {**TEXT, "minLength": 1, "maxLength": 2},
        ),
        ({"title": "A", "allOf": [{"title": "B"}]}, {"title": "A"}),
        ({"allOf": [{"title": "A"}, {"title": "B"}]}, {"title": "A"}),
        ({"allOf": [{"allOf": [{"title": "A"}]}]}, {"title": "A"}),
        ({"allOf": [True, None, 3]}, {}),
        ({"allOf": {}}, {}),
        (TEXT, TEXT),
    ],
)
def test_the_first_that_says_something_counts(schema: Tree, together: Tree) -> None:
    assert with_all_of(schema) == together


def test_properties_and_required_names_of_all_parts_come_together() -> None:
    schema: Tree = {
        "properties": {"a": TEXT},
        "required": ["a"],
        "allOf": [{"properties": {"a": True, "b": TEXT}}, {"required": ["b"], "minProperties": 1}],
    }
    assert canonical(with_all_of(schema)) == (
        '{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"minProperties":1}'
    )


def test_without_alternatives_a_schema_stays() -> None:
    assert with_properties_of([], TEXT) is TEXT


def test_an_object_may_have_what_any_alternative_has_and_has_to_have_what_each_requires() -> None:
    schema: Tree = {"title": "T", "properties": {"a": TEXT}, "required": ["a"]}
    first: Tree = {"properties": {"a": True, "b": TEXT}, "required": ["b", "c"]}
    second: Tree = {"allOf": [{"properties": {"c": TEXT}, "required": ["c"]}]}
    assert canonical(with_properties_of([first, second], schema)) == (
        '{"title":"T","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},'
        '"required":["a","c"]}'
    )


@given(json_objects)
def test_any_tree_can_be_combined(tree: Tree) -> None:
    once = with_all_of({**tree, "allOf": [tree]})
    assert with_all_of(once) == once
    assert with_properties_of([tree], {})["required"] == []
