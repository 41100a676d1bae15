"""Schemas of documents in today's JSON Schema: each feature passes, or is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint
from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import parsed_document
from toolreel.tools.openapi._request.json_schema_conversion import Schemas
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._schema.validation import check_schema, violations


def translated(schema: Json, *, version: str = "3.1.0", **parts: Json) -> tuple[Json, Json]:
    """A schema, and what it refers to."""
    schemas = Schemas(parsed_document({"openapi": version, "components": {"schemas": parts}}))
    whole = schemas.standing_alone({"properties": {"it": schemas.translated(schema)}})
    check_schema(canonical(whole))
    properties = whole["properties"]
    assert isinstance(properties, dict)
    return properties["it"], whole.get("$defs", {})


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "string", "nullable": True, "enum": [None]},
            {"type": ["string", "null"], "enum": [None]},
        ),
        (
            {"allOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"type": "array", "items": {"nullable": True, "type": "integer"}}, None),
        ({"type": "string", "example": "x", "xml": {"name": "y"}, "x-order": 1}, {"type": "string"}),
    ],
)
def test_schemas_of_3_0_are_said_in_todays_words(older: Json, newer: Json) -> None:
    expected = {"type": "array", "items": {"type": ["integer", "null"]}} if newer is None else newer
    assert translated(older, version="3.0.3") == (expected, {})


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": ["string", "null"], "examples": ["x"]},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": False},
        {"prefixItems": [{}], "items": False, "contains": {"const": 1}, "minContains": 2},
        {"dependentSchemas": {"a": {"minProperties": 2}}, "unevaluatedProperties": False},
        {"$defs": {"x": {"type": "string"}}, "patternProperties": {"^x": {"multipleOf": 2}}},
        {"not": {"anyOf": [{"maxLength": 3}, {"format": "date"}]}, "propertyNames": {"pattern": "^a"}},
    ],
)
def test_schemas_of_3_1_are_json_schema_already(schema: Json) -> None:
    assert translated(schema) == (schema, {})


def test_what_is_referred_to_comes_along_once_and_may_refer_to_itself() -> None:
    node: Json = {
        "properties": {
            "next": {"$ref": "#/components/schemas/Node"},
            "kind": {"$ref": "#/components/schemas/Kind"},
        }
    }
    it, defs = translated({"$ref": "#/components/schemas/Node"}, Node=node, Kind={"enum": [1]}, Other={})
    assert it == {"$ref": "#/$defs/Node"}
    assert defs == {
        "Node": {"properties": {"next": {"$ref": "#/$defs/Node"}, "kind": {"$ref": "#/$defs/Kind"}}},
        "Kind": {"enum": [1]},
    }


def test_places_with_the_same_short_name_are_kept_apart() -> None:
    schemas: dict[str, Any] = {"a b": {"type": "string"}, "a_b": {"type": "integer"}}
    both: Json = {"anyOf": [{"$ref": "#/components/schemas/a b"}, {"$ref": "#/components/schemas/a_b"}]}
    it, defs = translated(both, **schemas)
    assert it == {"anyOf": [{"$ref": "#/$defs/a_b"}, {"$ref": "#/$defs/a_b_1"}]}
    assert defs == {"a_b": {"type": "string"}, "a_b_1": {"type": "integer"}}


def test_what_stands_beside_a_reference_counts_from_3_1_on() -> None:
    beside: Json = {"$ref": "#/components/schemas/K", "description": "d", "minLength": 2}
    assert translated(beside, K={})[0] == {"$ref": "#/$defs/K", "description": "d", "minLength": 2}
    assert translated(beside, version="3.0.0", K={})[0] == {"$ref": "#/$defs/K", "description": "d"}


def test_what_only_a_server_sends_is_no_argument() -> None:
    schema: Json = {
        "properties": {
            "id": {"readOnly": True},
            "at": {"$ref": "#/components/schemas/At"},
            "name": {},
            "on": True,
        },
        "required": ["id", "at", "name"],
    }
    it, _ = translated(schema, At={"type": "string", "readOnly": True})
    assert it == {"properties": {"name": {}, "on": True}, "required": ["name"]}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://elsewhere.example/s.json"}, "leads out of the document"),
        ({"items": {"$ref": "./pet.json#/Pet"}}, "leads out of the document"),
        ({"$ref": "#/components/schemas/None"}, "points to nothing"),
        ({"$ref": "#node"}, "is an anchor"),
        ({"$id": "https://x.example/s", "type": "object"}, "a schema with $id is not supported"),
        ({"allOf": [{"$dynamicRef": "#n"}]}, "a schema with $dynamicRef is not supported"),
        ({"items": "x"}, "expected a schema, got 'x'"),
    ],
)
def test_what_would_reach_out_or_is_not_understood_is_refused_by_name(schema: Json, why: str) -> None:
    assert why in complaint(OpenApiError, lambda: translated(schema))


def test_a_translated_schema_judges_values() -> None:
    schemas = Schemas(
        parsed_document({"openapi": "3.0.0", "components": {"schemas": {"N": {"type": "integer"}}}})
    )
    tree: dict[str, Json] = {
        "type": "object",
        "properties": {"n": schemas.translated({"$ref": "#/components/schemas/N"})},
    }
    whole = canonical(schemas.standing_alone(tree))
    assert violations(whole, canonical({"n": 3})) == ()
    assert [each.pointer for each in violations(whole, canonical({"n": "3"}))] == ["/n"]
