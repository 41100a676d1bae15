from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolreel_core._jsontext.canonical import Json
from toolreel_core._schema.metaschema import is_everyday

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(-1, 1)
    | st.sampled_from(["", "a", "[", "string"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("a["), inner, max_size=2),
)
KEYWORDS = st.sampled_from(
    [
        *(
            "$anchor",
            "$defs",
            "$ref",
            "additionalProperties",
            "allOf",
            "anyOf",
            "const",
            "contains",
            "default",
        ),
        *(
            "enum",
            "exclusiveMinimum",
            "format",
            "items",
            "maxItems",
            "minimum",
            "not",
            "pattern",
            "prefixItems",
        ),
        *(
            "patternProperties",
            "properties",
            "propertyNames",
            "required",
            "title",
            "type",
            "uniqueItems",
            "x-a",
        ),
    ]
)
SCHEMAS = st.recursive(
    st.booleans() | VALUES, lambda inner: st.dictionaries(KEYWORDS, inner | VALUES, max_size=3), max_leaves=12
)


@given(SCHEMAS)
def test_what_is_recognised_the_metaschema_takes_as_well(schema: Json) -> None:
    if is_everyday(schema):
        Draft202012Validator.check_schema(cast("bool", schema))


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1, "b"], "default": 1, "examples": [1]}}},
        {"definitions": {"a": {"const": {"type": "text"}}}, "title": "t", "$comment": "c", "format": "uri"},
        {"anyOf": [{"type": "string", "minLength": 1, "pattern": "^a"}, {"type": "number", "minimum": 0.5}]},
        {"items": {"uniqueItems": True}, "prefixItems": [False], "maxItems": 3, "contains": {}, "not": {}},
        {"patternProperties": {"^x": {}}, "additionalProperties": False, "propertyNames": {"maxLength": 3}},
        {"if": {}, "then": {"minProperties": 1}, "else": {}, "deprecated": True, "contentEncoding": "base64"},
        {"required": []},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
    ],
)
def test_everyday_schemas_are_recognised(schema: Json) -> None:
    assert is_everyday(schema)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "object",
        {"type": "text"},
        {"type": []},
        {"type": ["string", "string"]},
        {"type": ["string", 3]},
        {"type": 3},
        {"required": "a"},
        {"required": [1]},
        {"required": ["a", "a"]},
        {"enum": "a"},
        {"anyOf": []},
        {"anyOf": {}},
        {"properties": []},
        {"properties": {"a": 3}},
        {"items": [{}]},
        {"minimum": True},
        {"minLength": -1},
        {"minLength": 1.0},
        {"uniqueItems": "yes"},
        {"title": 3},
        {"pattern": "["},
        {"pattern": 3},
        {"patternProperties": {"[": {}}},
        {"patternProperties": 3},
        {"$anchor": "a"},
        {"x-of-ours": 1},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
    ],
)
def test_of_all_others_nothing_is_said(schema: Json) -> None:
    assert not is_everyday(schema)
