from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.samples import worked
from tests.strategies import json_objects
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._schema import check_schema, inline_references, schemas_in

ROOT: Tree = {
    "properties": {"a": {"$ref": "#/$defs/A"}, "b/c": {"type": "string"}, "é ~": True},
    "anyOf": [{"type": "null"}, {"$ref": "#"}],
    "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"$ref": "#/$defs/A"}, "C": False, "D": 3},
}
TEXT: Tree = {"type": "string"}


@pytest.mark.parametrize(
    "reference", ["#/%24defs/T", "#/anyOf/1", "#/properties/b~1c", "#/properties/%C3%A9%20~0"]
)
def test_a_pointer_leads_to_a_schema(reference: str) -> None:
    parts: Tree = {"properties": {"b/c": TEXT, "é ~": TEXT}, "anyOf": [True, TEXT], "$defs": {"T": TEXT}}
    assert inline_references({"items": {"$ref": reference}, **parts})["items"] == TEXT


@pytest.mark.parametrize("reference", worked("what leads to no schema of this document has no target"))
def test_what_leads_to_no_schema_of_this_document_stays(reference: Json) -> None:
    schema: Tree = {"items": {"$ref": reference}, **ROOT}
    assert inline_references(schema) is schema


@given(json_objects)
def test_any_tree_can_be_searched(tree: Tree) -> None:
    assert next(schemas_in(tree)) is tree
    assert list(schemas_in(None)) == []


@pytest.mark.parametrize(("schema", "written"), worked("a reference gives way to what it refers to"))
def test_a_reference_gives_way_to_what_it_refers_to(schema: Tree, written: Tree) -> None:
    assert inline_references(schema) == written


def doubling(name: str) -> Tree:
    return {"properties": {"a": {"$ref": f"#/$defs/{name}"}, "b": {"$ref": f"#/$defs/{name}"}}}


@pytest.mark.parametrize(
    "parts",
    [
        {f"d{number}": doubling(f"d{number + 1}") for number in range(30)} | {"d30": TEXT},
        {f"d{number}": {"items": {"$ref": f"#/$defs/d{number + 1}"}} for number in range(60)} | {"d60": TEXT},
    ],
    ids=["too large", "too deep"],
)
def test_a_schema_that_would_grow_beyond_measure_stays(parts: Tree) -> None:
    schema: Tree = {"items": {"$ref": "#/$defs/d0"}, "$defs": parts}
    assert inline_references(schema) is schema


def test_notes_beside_the_reference_that_is_cut_are_kept() -> None:
    node: Tree = {
        "type": "object",
        "title": "Node",
        "properties": {"next": {"$ref": "#", "description": "-"}},
    }
    cut: Tree = {"type": "object", "title": "Node", "description": "-"}
    assert inline_references(node) == {**node, "properties": {"next": cut}}


_leaves: st.SearchStrategy[Any] = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "minimum": 1}, True]
)


def schemas(*references: str) -> st.SearchStrategy[Any]:
    return st.recursive(
        _leaves | st.sampled_from([{"$ref": reference} for reference in ("#/$defs/A", *references)]),
        lambda inner: (
            st.builds(lambda part: {"type": "array", "items": part}, inner)
            | st.builds(
                lambda part: {"$ref": "#/$defs/A", "title": "t", "anyOf": [part, {"const": 1}]}, inner
            )
            | st.builds(lambda part: {"properties": {"a": part}, "additionalProperties": False}, inner)
        ),
        max_leaves=4,
    )


_roots: st.SearchStrategy[Any] = st.builds(
    lambda a, b, c: {"properties": {"a": a}, "$defs": {"A": b, "B": c}},
    schemas("#/$defs/B"),
    _leaves,
    schemas(),
)
_values: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from(["x", 0, 1, 2]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@given(_roots, _values)
def test_a_schema_takes_the_same_values_as_before_and_once_is_enough(schema: Tree, value: Json) -> None:
    before = canonical(schema)
    written = inline_references(schema)
    assert (canonical(schema), inline_references(written)) == (before, written)
    tried: Json = {"a": value}
    assert Draft202012Validator(written).is_valid(tried) == Draft202012Validator(schema).is_valid(tried)


@given(
    st.builds(
        lambda a, b: {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": a, "B": b}}, *[schemas("#/$defs/B")] * 2
    )
)
def test_a_recursive_schema_is_cut_and_stays_sound(schema: Tree) -> None:
    try:
        check_schema(canonical(schema))
    except ConfigError:
        return  # it refers to itself without end
    written = inline_references(schema)
    check_schema(canonical(written))
    assert not any("$ref" in part for part in schemas_in(written))
