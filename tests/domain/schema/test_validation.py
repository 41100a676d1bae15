from __future__ import annotations

import pytest

from tests.samples import complaint, worked
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import (
    Violation,
    check_schema,
    refused_nulls,
    unknown_key_violations,
    violating_paths,
    violations,
)

TEXT: Json = {"type": "string"}


def told(schema: Json, arguments: Json) -> list[str]:
    return [str(violation) for violation in violations(canonical(schema), canonical(arguments))]


def refusal(schema: Json) -> str:
    return complaint(ConfigError, lambda: check_schema(canonical(schema)))


def deep(levels: int) -> Json:
    schema: Json = {"type": "object"}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    "reference",
    ["https://example.invalid/schema", "other.json", "//", "https://json-schema.org/draft/2020-12/schema"],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_another_document_is_refused_and_never_looked_for(keyword: str, reference: str) -> None:
    """An attempt to reach the network would end the test: see conftest.py."""
    schema: Json = {"properties": {"a": {"items": {keyword: reference}}}}
    assert refusal(schema) == (f"$ref {reference!r} points outside its schema; put what it means under $defs")


@pytest.mark.parametrize("schema", worked("a schema that needs itself for the same value is refused"))
def test_a_schema_that_needs_itself_for_the_same_value_is_refused(schema: Json) -> None:
    assert refusal(schema) == "the schema refers to itself without end"


def test_a_recursive_schema_is_fine_where_each_turn_goes_into_the_value() -> None:
    tree: Json = {
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert told(tree, {"left": {"right": {"value": 1}}}) == []
    assert told(tree, {"left": {"right": {"value": "1"}}}) == ['/left/right/value: expected integer, got "1"']


def test_a_recursive_schema_takes_the_deepest_arguments() -> None:
    arguments: Json = {}
    for _ in range(127):
        arguments = {"child": arguments}
    schema: Json = {"properties": {"child": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}}
    assert told(schema, arguments) == []


@pytest.mark.parametrize("schema", worked("a reference within the schema is followed"))
def test_a_reference_within_the_schema_is_followed(schema: Json) -> None:
    assert told(schema, {"a": "text"}) == []
    assert told(schema, {"a": 1}) == ["/a: expected string, got 1"]


def test_what_only_looks_like_a_reference_is_left_alone() -> None:
    check_schema(canonical({"properties": {"$ref": {"const": {"$ref": "gone"}}}, "examples": [{"$ref": 1}]}))


@pytest.mark.parametrize(("schema", "why"), worked("what is no usable schema is refused"))
def test_what_is_no_usable_schema_is_refused(schema: Json, why: str) -> None:
    assert refusal(schema) == why


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"), worked("a violation says what was expected beside what came")
)
def test_a_violation_says_what_was_expected_beside_what_came(
    schema: Json, arguments: Json, expected: str
) -> None:
    assert told(schema, arguments) == [expected]


def test_a_violation_has_its_place_as_a_json_pointer() -> None:
    schema: Json = {"properties": {"a/b": {"properties": {"~": {"items": {"type": "null"}}}}}}
    assert violations(canonical(schema), canonical({"a/b": {"~": [None, 1]}})) == (
        Violation("/a~1b/~0/1", "null", "1"),
    )


def test_at_most_three_violations_are_told_in_the_order_of_the_document() -> None:
    schema: Json = {"additionalProperties": {"items": {"type": "integer"}}, "required": ["z"]}
    arguments: Json = {"c": [*range(10), "tenth", "eleventh"], "b": [[]], "a": [{}]}
    assert told(schema, arguments) == [
        "arguments: expected the required 'z', got " + canonical(arguments)[:80],
        '/c/10: expected integer, got "tenth"',
        '/c/11: expected integer, got "eleventh"',
    ]


def test_arguments_too_deep_for_their_schema_are_a_violation_and_no_error() -> None:
    schema: Json = {"properties": {"a": {"$ref": "#"}}}
    for _ in range(15):
        schema = {"allOf": [schema]}
    arguments: Json = {}
    for _ in range(63):
        arguments = {"a": arguments}
    assert told(schema, arguments) == [
        "arguments: expected smaller numbers or less nesting, got " + canonical(arguments)[:80] + "…"
    ]


def test_a_number_too_large_to_divide_is_a_violation_and_no_error() -> None:
    schema: Json = {"properties": {"a": {"multipleOf": 0.5}}}
    assert told(schema, {"a": 10**400}) == [
        'arguments: expected smaller numbers or less nesting, got {"a":1' + "0" * 74 + "…"
    ]


NUMBER: Json = {"type": "integer"}
NULL: Json = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "arguments", "refused"),
    worked("a null is refused where the schema neither takes nor needs it"),
)
def test_a_null_is_refused_where_the_schema_neither_takes_nor_needs_it(
    schema: Json, arguments: Json, refused: list[str]
) -> None:
    assert [*refused_nulls(canonical(schema), canonical(arguments))] == refused


def test_what_cannot_be_validated_has_no_refused_nulls() -> None:
    schema = canonical({"properties": {"a": TEXT, "n": {"multipleOf": 0.5}}})
    assert refused_nulls(schema, canonical({"n": 10**400, "a": None})) == ()


def test_every_value_that_breaks_a_schema_is_found_by_its_place() -> None:
    schema = canonical({"properties": {"a": {"items": TEXT}, "n": NUMBER}, "required": ["n"]})
    assert violating_paths(schema, {"a": ["x", 1, 2], "n": "3"}) == (("a", 1), ("a", 2), ("n",))
    assert violating_paths(schema, {"a": []}) == ((),)
    assert violating_paths(schema, {"n": 3}) == ()


def test_what_cannot_be_validated_is_broken_as_a_whole() -> None:
    schema = canonical({"properties": {"n": {"multipleOf": 0.5}}})
    assert violating_paths(schema, {"n": 10**400}) == ((),)


LOOSE = canonical(
    {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
)


@pytest.mark.parametrize(
    "given", [{"q": "cats"}, {"": 1}, {"query:": 1}, {"query": "x", 'name="limit"': 3}, {"a": 1, "b": 2}]
)
def test_arguments_that_nothing_declares_are_told(given: dict[str, Json]) -> None:
    (found,) = unknown_key_violations(LOOSE, canonical(given))
    assert str(found).startswith("arguments: expected no parameters but limit, query, got ")


@pytest.mark.parametrize(
    ("schema", "given"),
    worked("other arguments may be meant", "schemas"),
)
def test_other_arguments_may_be_meant(schema: Json, given: dict[str, Json]) -> None:
    assert unknown_key_violations(canonical(schema), canonical(given)) == ()
