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


@pytest.mark.parametrize(
    ("schema", "written"),
    worked("a reference gives way to what it refers to"),
)
def test_a_reference_gives_way_to_what_it_refers_to(schema: Tree, written: Tree) -> None:
    assert inline_defs(schema) == written


def test_notes_beside_a_reference_go_before_those_of_the_definition() -> None:
    definition: Tree = {**TEXT, "description": "A text.", "title": "A"}
    schema: Tree = {
        "items": {"$ref": "#/$defs/A", "description": "The first.", "default": ""},
        "$defs": {"A": definition},
    }
    assert inline_defs(schema) == {
        "items": {"type": "string", "description": "The first.", "title": "A", "default": ""}
    }


@pytest.mark.parametrize(
    ("beside", "written"),
    [
        ({"minLength": 1}, {"minLength": 1, "allOf": [TEXT]}),
        ({"allOf": [{"minLength": 1}]}, {"allOf": [{"minLength": 1}, TEXT]}),
    ],
)
def test_what_is_demanded_beside_a_reference_holds_as_well(beside: Tree, written: Tree) -> None:
    schema: Tree = {"items": {"$ref": "#/$defs/A", **beside}, "$defs": {"A": TEXT}}
    assert inline_defs(schema) == {"items": written}


def test_notes_beside_a_reference_to_nothing_at_all_hold_too() -> None:
    schema: Tree = {"items": {"$ref": "#/$defs/A", "title": "None"}, "$defs": {"A": False}}
    assert inline_defs(schema) == {"items": {"title": "None", "allOf": [False]}}


def test_definitions_that_a_definition_brings_along_stay_behind() -> None:
    inner: Tree = {"$defs": {"B": TEXT}, "items": {"$ref": "#/$defs/A/$defs/B"}}
    assert inline_defs({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": inner}}) == {"items": {"items": TEXT}}


def test_a_definition_that_holds_itself_stays_with_what_it_needs() -> None:
    schema: Tree = {
        "properties": {"list": {"$ref": "#/$defs/Node"}, "name": {"$ref": "#/$defs/Name"}},
        "$defs": {
            "Node": {"items": [], "anyOf": [NODE, {"$ref": "#/$defs/Name"}]},
            "Name": TEXT,
            "Other": {},
        },
    }
    assert inline_defs(schema) == {
        "properties": {"list": {"$ref": "#/$defs/Node"}, "name": TEXT},
        "$defs": {"Node": {"items": [], "anyOf": [NODE, TEXT]}},
    }


def test_definitions_that_hold_each_other_stay_together() -> None:
    a: Tree = {"items": {"$ref": "#/$defs/B"}}
    b: Tree = {"items": {"$ref": "#/$defs/A"}}
    schema: Tree = {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": a, "B": b, "C": TEXT}}
    assert inline_defs(schema) == {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": a, "B": b}}


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"$ref": "#"}},
        {"items": {"$ref": "https://example.com"}, "$defs": {"A": TEXT}},
        {"items": {"$ref": "#a"}, "$defs": {"A": {"$anchor": "a"}}},
        {"items": {"$dynamicRef": "#a"}, "$defs": {"A": {"$dynamicAnchor": "a"}}},
        {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"$id": "a", "$ref": "#"}}},
        {"items": {"$ref": "#/$defs"}, "$defs": {"items": {"$ref": "#/$defs"}}},
        {"default": {"$ref": "#/$defs/A"}},
        {},
    ],
)
def test_what_cannot_be_written_out_stays(schema: Tree) -> None:
    assert inline_defs(schema) == schema


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
