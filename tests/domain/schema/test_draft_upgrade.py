from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import check_schema, modern


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, {"type": "object"}),
        ({"$schema": "http://json-schema.org/draft-04/schema"}, {}),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema"}, {}),
        ({"items": [{"type": "string"}]}, {"prefixItems": [{"type": "string"}]}),
        ({"items": [{}], "additionalItems": False}, {"prefixItems": [{}], "items": False}),
        ({"items": [], "additionalItems": {"type": "string"}}, {"items": {"type": "string"}}),
        ({"items": []}, {}),
        ({"items": {"type": "string"}, "additionalItems": False}, {"items": {"type": "string"}}),
        (
            {"dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": False}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}, "e": False}},
        ),
        ({"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
        ({"dependencies": {}}, {}),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"exclusiveMaximum": True, "maximum": 9}, {"exclusiveMaximum": 9}),
        ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"exclusiveMaximum": True}, {}),
        ({"items": {"$recursiveRef": "#"}}, {"items": {"$ref": "#"}}),
        (
            {"$defs": {"a": {"items": [{"not": {}}]}}, "items": {"$ref": "#/$defs/a/items/0/not"}},
            {
                "$defs": {"a": {"prefixItems": [{"not": {}}]}},
                "items": {"$ref": "#/$defs/a/prefixItems/0/not"},
            },
        ),
        (
            {"properties": {"items": {"items": [{"items": [True]}]}}},
            {"properties": {"items": {"prefixItems": [{"prefixItems": [True]}]}}},
        ),
    ],
)
def test_older_words_are_said_in_newer_ones(older: Json, newer: Json) -> None:
    assert modern(older) == newer
    assert modern(newer) == newer
    check_schema(canonical(newer))


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"$schema": "https://json-schema.org/draft/2020-12/schema"},
        {"$schema": 3, "$ref": 4},
        {"$ref": "#/properties/items"},
        {"prefixItems": [{}], "items": False},
        {"minimum": 0, "exclusiveMinimum": -1, "maximum": 3},
        {"dependencies": "of no kind that there is"},
        {"default": {"items": [1], "dependencies": {"a": ["b"]}}},
        {"items": "text"},
    ],
)
def test_what_has_no_older_words_stays_as_it_is(schema: Json) -> None:
    assert modern(schema) == schema
