from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import json_objects
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._schema import Place, References, changed_within, schemas_in, subschemas


def marked(schema: Json) -> Json:
    return {"was": schema}


@pytest.mark.parametrize("keyword", ["items", "not", "if", "additionalProperties", "propertyNames"])
def test_a_keyword_may_hold_one_schema(keyword: str) -> None:
    for value in ({"type": "string"}, False):
        assert list(subschemas({keyword: value})) == [value]
        assert changed_within({keyword: value}, marked) == {keyword: {"was": value}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "prefixItems"])
def test_a_keyword_may_hold_a_list_of_schemas(keyword: str) -> None:
    assert list(subschemas({keyword: [{}, True]})) == [{}, True]
    assert changed_within({keyword: [True]}, marked) == {keyword: [{"was": True}]}


@pytest.mark.parametrize("keyword", ["properties", "$defs", "definitions", "patternProperties"])
def test_a_keyword_may_hold_schemas_by_name(keyword: str) -> None:
    assert list(subschemas({keyword: {"items": {}, "b": True}})) == [{}, True]
    assert changed_within({keyword: {"enum": True}}, marked) == {keyword: {"enum": {"was": True}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"default": {"items": {}}, "enum": [{"items": {}}], "const": {"not": {}}, "x-own": {"items": {}}},
        {"anyOf": "text", "oneOf": {}, "allOf": None},
        {"properties": ["a"], "$defs": 3, "definitions": "text"},
    ],
)
def test_what_is_no_schema_is_left_alone(schema: Tree) -> None:
    assert list(subschemas(schema)) == []
    assert changed_within(schema, marked) == schema


def test_the_order_of_keywords_stays() -> None:
    changed = changed_within({"type": "array", "items": 1, "title": "t"}, str)
    assert list(changed) == ["type", "items", "title"]


@given(json_objects)
def test_changing_nothing_changes_nothing(schema: Tree) -> None:
    assert canonical(changed_within(schema, lambda part: part)) == canonical(schema)


ROOT: Tree = {
    "properties": {"a": {"$ref": "#/$defs/A"}, "b/c": {"type": "string"}, "é ~": True},
    "anyOf": [{"type": "null"}, {"$ref": "#"}],
    "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"$ref": "#/$defs/A"}, "C": False, "D": 3},
}


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ("#", ()),
        ("#/$defs/A", ("$defs", "A")),
        ("#/%24defs/A", ("$defs", "A")),
        ("#/$defs/C", ("$defs", "C")),
        ("#/anyOf/1", ("anyOf", "1")),
        ("#/properties/b~1c", ("properties", "b/c")),
        ("#/properties/%C3%A9%20~0", ("properties", "é ~")),
    ],
)
def test_a_pointer_leads_to_a_schema(reference: str, place: Place) -> None:
    assert References(ROOT).target({"$ref": reference}) == place


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/Z",
        "#/$defs/D",
        "#/$defs/A/items/$ref",
        "#/$defs/D/x",
        "#/anyOf/2",
        "#/anyOf/-1",
        "#/anyOf/x",
        "#/anyOf/9999999999999999999",
        "#/anyOf/²",
        "#/anyOf",
        "#anchor",
        "https://example.com/schema",
        "A",
        "",
        3,
        None,
    ],
)
def test_what_leads_to_no_schema_of_this_document_has_no_target(reference: Json) -> None:
    assert References(ROOT).target({"$ref": reference}) is None
    assert References(ROOT).target({}) is None


def test_what_a_schema_refers_to_is_found_at_any_depth_and_once() -> None:
    schema: Tree = {"items": {"anyOf": [{"$ref": "#/$defs/B"}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}}
    assert sorted(References(ROOT).within(schema)) == [("$defs", "A"), ("$defs", "B")]
    assert References(ROOT).within(True) == ()
    assert References(ROOT).within({"default": {"$ref": "#"}, "properties": {"$ref": {}}}) == ()


def test_what_can_be_reached_holds_the_start_too() -> None:
    references = References(ROOT)
    assert sorted(references.reached([("$defs", "B")])) == [("$defs", "A"), ("$defs", "B")]
    assert references.reached([("$defs", "C")]) == (("$defs", "C"),)


@pytest.mark.parametrize(
    ("place", "endless"),
    [
        (("$defs", "A"), True),
        (("$defs", "B"), True),
        ((), True),
        (("properties", "a"), False),
        (("$defs", "C"), False),
        (("properties", "b/c"), False),
    ],
)
def test_a_schema_that_comes_back_to_itself_is_endless(place: Place, endless: bool) -> None:
    assert References(ROOT).is_endless(place) is endless


@given(json_objects)
def test_any_tree_can_be_searched(tree: Tree) -> None:
    assert References(tree).within(tree) == ()
    assert next(schemas_in(tree)) is tree
    assert list(schemas_in(None)) == []
