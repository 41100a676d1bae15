from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.samples import worked
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._schema import check_schema, inline_defs, inlined

TEXT: Tree = {"type": "string"}
NODE: Tree = {"type": "object", "title": "Node", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": TEXT}}


@pytest.mark.parametrize(("schema", "written"), worked("a reference gives way to what it refers to"))
def test_a_reference_gives_way_to_what_it_refers_to(schema: Tree, written: Tree) -> None:
    assert inline_defs(schema) == written


def test_a_schema_that_would_grow_beyond_measure_stays() -> None:
    def twice(name: str) -> Tree:
        return {"properties": {"a": {"$ref": f"#/$defs/{name}"}, "b": {"$ref": f"#/$defs/{name}"}}}

    parts: Tree = {f"d{number}": twice(f"d{number + 1}") for number in range(30)} | {"d30": TEXT}
    schema: Tree = {"items": {"$ref": "#/$defs/d0"}, "$defs": parts}
    assert inline_defs(schema) is schema


def test_a_schema_that_would_nest_too_deeply_stays() -> None:
    parts: Tree = {f"d{number}": {"items": {"$ref": f"#/$defs/d{number + 1}"}} for number in range(60)}
    schema: Tree = {"items": {"$ref": "#/$defs/d0"}, "$defs": {**parts, "d60": TEXT}}
    assert inline_defs(schema) is schema


def test_a_schema_with_very_many_definitions_stays() -> None:
    names = [f"d{number}" for number in range(1_001)]
    references: Tree = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    schema: Tree = {"properties": references, "$defs": dict.fromkeys(names, TEXT)}
    assert inline_defs(schema) is schema


@pytest.mark.parametrize(
    ("definition", "last"),
    [
        (NODE, {"type": "object", "title": "Node"}),
        ({"anyOf": [{"$ref": "#/$defs/Node"}]}, {"type": "object"}),
    ],
)
def test_a_definition_that_holds_itself_can_be_cut_where_it_comes_round(definition: Tree, last: Tree) -> None:
    schema: Tree = {"items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": definition}}
    written = inlined(schema, endless="cut")
    assert canonical(written) == canonical({"items": definition}).replace(
        canonical({"$ref": "#/$defs/Node"}), canonical(last)
    )


def test_notes_beside_the_reference_that_is_cut_are_kept() -> None:
    schema: Tree = {**NODE, "properties": {"next": {"$ref": "#", "title": "Next"}}}
    assert inlined(schema, endless="cut") == {
        **NODE,
        "properties": {"next": {"type": "object", "title": "Next"}},
    }


_leaves: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"$ref": "#/$defs/A"},
        {"$ref": "#/$defs/B"},
        True,
    ]
)
_schemas: st.SearchStrategy[Any] = st.recursive(
    _leaves,
    lambda inner: (
        st.builds(lambda part: {"type": "array", "items": part}, inner)
        | st.builds(lambda part: {"$ref": "#/$defs/A", "title": "t", "anyOf": [part, {"const": 1}]}, inner)
        | st.builds(lambda part: {"properties": {"a": part}, "additionalProperties": False}, inner)
    ),
    max_leaves=4,
)
_roots: st.SearchStrategy[Any] = st.builds(
    lambda a, b, c: {"properties": {"a": a}, "$defs": {"A": b, "B": c}}, _schemas, _schemas, _schemas
)
_values: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from(["x", 0, 1, 2]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@given(_roots, _values)
def test_a_schema_takes_the_same_values_as_before_and_once_is_enough(schema: Tree, value: Json) -> None:
    before = canonical(schema)
    written = inline_defs(schema)
    assert canonical(schema) == before
    assert inline_defs(written) == written
    try:
        check_schema(canonical(schema))
    except ConfigError:
        return  # it refers to itself without end, and no value can be checked
    check_schema(canonical(written))
    tried: Json = {"a": value}
    assert Draft202012Validator(written).is_valid(tried) == Draft202012Validator(schema).is_valid(tried)
