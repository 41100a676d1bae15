from __future__ import annotations

import pytest

from tests.samples import worked
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import check_schema, modern


@pytest.mark.parametrize(
    ("older", "newer"),
    worked("older words are said in newer ones"),
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
