from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._schema.validation import check_schema
from toolreel_core._tools.schema_on_wire import sendable

EMPTY: Json = {"type": "object", "required": []}
BARE: Json = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (EMPTY, BARE),
        ({"required": ["a"]}, {"required": ["a"]}),
        ({}, {}),
        ({"items": EMPTY}, {"items": BARE}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"not": {"not": EMPTY}}, {"not": {"not": BARE}}),
        ({"anyOf": [EMPTY, True, BARE]}, {"anyOf": [BARE, True, BARE]}),
        ({"properties": {"a": EMPTY}}, {"properties": {"a": BARE}}),
        ({"properties": {"required": EMPTY}}, {"properties": {"required": BARE}}),
        ({"$defs": {"a": {"prefixItems": [EMPTY]}}}, {"$defs": {"a": {"prefixItems": [BARE]}}}),
    ],
)
def test_an_empty_list_of_required_names_is_left_out_at_any_depth(schema: Json, sent: Json) -> None:
    check_schema(canonical(schema))
    assert sendable(schema) == sent
    assert sendable(sent) == sent


@pytest.mark.parametrize("keyword", ["default", "const", "x-own"])
def test_what_is_no_schema_is_left_alone(keyword: str) -> None:
    assert sendable({keyword: EMPTY}) == {keyword: EMPTY}
    assert sendable({"enum": [EMPTY], "examples": [EMPTY]}) == {"enum": [EMPTY], "examples": [EMPTY]}


def test_the_order_of_keywords_stays() -> None:
    assert canonical(sendable({"title": "t", "required": [], "type": "object"})) == (
        '{"title":"t","type":"object"}'
    )
