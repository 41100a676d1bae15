from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._schema import gemini_subset

KNOWN = {
    *("anyOf", "description", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum"),
    *("minItems", "minLength", "minProperties", "minimum", "nullable", "pattern", "properties"),
    *("propertyOrdering", "required", "title", "type"),
}
TEXT: Tree = {"type": "string"}


def sent(schema: Json) -> Any:  # noqa: ANN401 - a parsed tree
    """What is sent of one property's schema."""
    whole: Any = gemini_subset({"type": "object", "properties": {"p": schema}})
    return whole["properties"]["p"]


@pytest.mark.parametrize(
    "schema",
    worked("what gemini knows stays to the byte"),
)
def test_what_gemini_knows_stays_to_the_byte(schema: Tree) -> None:
    assert canonical(sent(schema)) == canonical(schema)


@pytest.mark.parametrize(
    "refused",
    worked("what gemini refuses is left out"),
)
def test_what_gemini_refuses_is_left_out(refused: Tree) -> None:
    assert gemini_subset({"type": "object", **refused}) == {"type": "object"}
    assert sent({"type": "object", **refused}) == {"type": "object"}


@pytest.mark.parametrize(
    "refused",
    [{"uniqueItems": True}, {"contains": {}}, {"minItems": 1.5}, {"unevaluatedItems": False}],
)
def test_what_gemini_refuses_of_a_list_is_left_out(refused: Tree) -> None:
    assert sent({"type": "array", "items": TEXT, **refused}) == {"type": "array", "items": TEXT}


def test_a_property_may_be_called_as_a_keyword_is() -> None:
    schema: Tree = {
        "type": "object",
        "properties": {"format": TEXT, "const": TEXT, "$ref": TEXT},
        "required": ["format"],
    }
    assert gemini_subset(schema) == schema


@pytest.mark.parametrize(("about", "schema", "rewritten"), worked("what gemini is sent"))
def test_a_worked_case_is_sent_as_it_says(about: str, schema: Json, rewritten: Json) -> None:
    assert sent(schema) == rewritten, about


def test_an_object_with_alternatives_has_the_properties_of_all_and_requires_what_all_require() -> None:
    schema: Tree = {
        "properties": {"kind": TEXT},
        "required": ["kind"],
        "anyOf": [
            {"properties": {"kind": {"const": "a"}, "a": TEXT}, "required": ["a", "id"]},
            {"allOf": [{"properties": {"id": TEXT}, "required": ["id"]}]},
        ],
    }
    merged: Tree = {
        "type": "object",
        "properties": {"kind": TEXT, "a": TEXT, "id": TEXT},
        "required": ["kind", "id"],
    }
    assert canonical(sent(schema)) == canonical(merged)
    assert gemini_subset(schema) == merged


def test_a_root_that_is_a_choice_of_objects_is_one_object() -> None:
    cat: Tree = {"type": "object", "properties": {"kind": {"const": "cat"}, "purrs": {"type": "boolean"}}}
    dog: Tree = {"type": "object", "properties": {"kind": {"const": "dog"}, "barks": {"type": "boolean"}}}
    schema: Tree = {
        "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        "$defs": {"Cat": cat, "Dog": dog},
    }
    root: Any = gemini_subset(schema)
    assert root["type"] == "object"
    assert list(root["properties"]) == ["kind", "purrs", "barks"]


@pytest.mark.parametrize("root", [{}, {"type": "string"}, {"type": ["object", "null"]}, {"anyOf": [TEXT]}])
def test_a_root_is_always_an_object(root: Tree) -> None:
    assert gemini_subset(root) == {"type": "object"}


def test_all_of_is_taken_in_and_what_says_something_first_counts() -> None:
    schema: Tree = {
        "description": "Mine.",
        "allOf": [
            {"type": "object", "description": "Theirs.", "properties": {"a": TEXT}, "required": ["a"]},
            {"allOf": [{"properties": {"a": {"type": "integer"}, "b": TEXT}, "required": ["b"]}]},
            {"minProperties": 1},
        ],
    }
    assert sent(schema) == {
        "type": "object",
        "description": "Mine.",
        "minProperties": 1,
        "properties": {"a": TEXT, "b": TEXT},
        "required": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("schema", "rewritten"),
    [
        ({"type": "array"}, TEXT),
        ({"type": "array", "items": False}, TEXT),
        ({"prefixItems": [TEXT]}, TEXT),
        ({"type": "array", "items": [TEXT]}, TEXT),
        ({"prefixItems": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
    ],
)
def test_a_list_says_what_its_elements_are(schema: Tree, rewritten: Tree) -> None:
    assert sent(schema) == {"type": "array", "items": rewritten}


def test_references_are_written_out_and_cut_where_they_come_round() -> None:
    node: Tree = {"properties": {"next": {"$ref": "#/$defs/N"}, "v": TEXT}, "description": "A node."}
    written = gemini_subset({"properties": {"first": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}})
    rest: Tree = {"type": "object", "description": "A node."}
    assert written == {
        "type": "object",
        "properties": {"first": {**rest, "properties": {"next": rest, "v": TEXT}}},
    }


def test_a_reference_that_leads_nowhere_counts_as_an_object() -> None:
    assert sent({"$ref": "https://example.com", "title": "Far"}) == {"type": "object", "title": "Far"}


def check(node: Any) -> None:  # noqa: ANN401 - a parsed tree
    assert node.keys() <= KNOWN
    if "anyOf" in node:
        assert node.keys() == {"anyOf"}
        assert len(node["anyOf"]) > 1
    else:
        assert node["type"] in {"array", "boolean", "integer", "number", "object", "string"}
        assert ("items" in node) == (node["type"] == "array")
        assert all(choice and isinstance(choice, str) for choice in node.get("enum", ["-"]))
        assert set(node.get("required", ())) <= set(node.get("properties", ()))
    parts = [*node.get("anyOf", ()), *node.get("properties", {}).values()]
    for part in [*parts, node["items"]] if "items" in node else parts:
        check(part)


_values: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        1.5,
        "",
        "a",
        "string",
        "integer",
        "null",
        ["string", "null"],
        "date",
        {},
        [],
        ["a", 1, None],
    ]
)
_keywords = st.sampled_from(
    [
        *("type", "enum", "const", "format", "required", "minimum", "exclusiveMaximum", "nullable"),
        *("anyOf", "oneOf", "allOf", "items", "prefixItems", "properties", "description", "propertyOrdering"),
    ]
)
_schemas: st.SearchStrategy[Any] = st.recursive(
    _values,
    lambda inner: (
        st.dictionaries(_keywords, inner, max_size=4)
        | st.lists(inner, max_size=3)
        | st.builds(lambda part: {"properties": {"a": part}}, inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(_keywords, _schemas, max_size=4))
def test_whatever_comes_is_sent_in_the_subset_and_once_is_enough(schema: Tree) -> None:
    before = canonical(schema)
    subset = gemini_subset(schema)
    assert canonical(schema) == before
    check(subset)
    assert canonical(gemini_subset(subset)) == canonical(subset)
