from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.samples import worked
from toolreel_core._jsontext import Json, canonical, parse
from toolreel_core._schema import MAX_LEVELS, common_schema, fits_common, violations

BIG = 2**53
BOUNDS = [0, 1, -1, 2, 1.0, 0.5, -0.0, BIG, BIG + 1, 1e300, 10**40]
TEXTS = ["", "a", "ab", "é", "\U0001f600", "1", "e\u0301", "null"]
LEAVES: list[Json] = [None, True, False, *BOUNDS, float(BIG), -(10**40), *TEXTS]
NAMES = st.sampled_from(["a", "b", "é"])
KINDS = ["array", "boolean", "integer", "null", "number", "object", "string"]

leaves = st.sampled_from(LEAVES)
values: st.SearchStrategy[Json] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
counts = st.integers(0, 3)
bounds = st.sampled_from(BOUNDS)


def keywords(inner: st.SearchStrategy[Json], **further: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Schemas of some keywords that are known."""
    some = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, unique=True),
            "const": leaves,
            "enum": st.lists(leaves, max_size=6),
            **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), bounds),
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), counts),
            **dict.fromkeys(("minProperties", "maxProperties"), counts),
            "pattern": st.sampled_from(["^a", "b$", "\\d", "^.$"]),
            "required": st.lists(NAMES, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            **dict.fromkeys(("additionalProperties", "items"), inner),
            **dict.fromkeys(("allOf", "anyOf"), some),
            "format": st.sampled_from(["date", "email", "uri"]),
            **further,
        },
    ).map(dict)


schemas = st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=4).filter(
    lambda schema: isinstance(schema, dict)
)
references = st.sampled_from(["#/$defs/a", "#/$defs/b", "#/$defs/gone", "#"])
referring = st.recursive(
    keywords(st.booleans(), **{"$ref": references}),
    lambda inner: keywords(inner, **{"$ref": references}),
    max_leaves=3,
)


@given(schemas, values)
def test_a_check_says_what_jsonschema_says(schema: dict[str, Json], value: Json) -> None:
    assert common_schema(canonical(schema)) is not None
    assert fits_common(canonical(schema), value) == Draft202012Validator(schema).is_valid(value)


@given(referring, referring, referring, values)
def test_a_schema_with_references_is_sound_if_it_is_known(
    schema: dict[str, Json], a: Json, b: Json, value: Json
) -> None:
    text = canonical({**schema, "$defs": {"a": a, "b": b}})
    if common_schema(text) is not None:
        assert fits_common(text, value) == (violations(text, canonical(value)) == ())
        assert fits_common(text, value) == Draft202012Validator(
            cast("dict[str, Json]", parse(text))
        ).is_valid(value)


SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, "", "a", "[", "string"])
ODD = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("a["), inner, max_size=2),
)
KEYWORDS = """
    $anchor $comment $defs $ref $schema additionalProperties allOf anyOf const contains contentEncoding
    default deprecated enum examples exclusiveMinimum format if items maxItems minLength minimum not oneOf
    pattern prefixItems propertyNames properties required title type uniqueItems x-a
"""
ANY = st.recursive(
    st.booleans() | ODD,
    lambda inner: st.dictionaries(st.sampled_from(KEYWORDS.split()), inner | ODD, max_size=3),
    max_leaves=12,
)


@given(ANY, values)
def test_a_common_schema_is_sound_and_accepts_only_what_fits(schema: Json, value: Json) -> None:
    if common_schema(canonical(schema)) is not None:
        Draft202012Validator.check_schema(cast("bool", schema))
        assert not fits_common(canonical(schema), value) or Draft202012Validator(
            cast("bool", schema)
        ).is_valid(value)


def outcomes(schema: Json, *tried: Json) -> list[bool]:
    """What the check of a schema says of values; it agrees with jsonschema, or this fails."""
    assert common_schema(canonical(schema)) is not None, "the schema is not known"
    said = [fits_common(canonical(schema), value) for value in tried]
    assert said == [Draft202012Validator(cast("bool", schema)).is_valid(value) for value in tried]
    return said


@pytest.mark.parametrize(("schema", "fitting", "others"), worked("what fits is recognised"))
def test_what_fits_is_recognised(schema: Json, fitting: list[Json], others: list[Json]) -> None:
    assert outcomes(schema, *fitting, *others) == [True] * len(fitting) + [False] * len(others)


def test_parts_may_refer_to_parts() -> None:
    texts: Json = {"type": "array", "items": {"$ref": "#/$defs/text"}}
    pair: Json = {"properties": {"a": {"$ref": "#/$defs/texts"}, "b": {"$ref": "#/$defs/texts"}}}
    schema: Json = {"items": pair, "$defs": {"text": {"type": "string"}, "texts": texts}}
    assert outcomes(schema, [{"a": ["x"], "b": []}], [{"a": ["x"], "b": [1]}]) == [True, False]


def nested(levels: int) -> Json:
    """An array in an array, and so on."""
    return [nested(levels - 1)] if levels > 1 else []


def chain(length: int) -> Json:
    """A schema each part of which is the next."""
    parts: dict[str, Json] = {f"p{at}": {"$ref": f"#/$defs/p{at + 1}"} for at in range(length)}
    return {"$ref": "#/$defs/p0", "$defs": {**parts, f"p{length}": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        True,
        ["type"],
        "object",
        {"pattern": "("},
        {"pattern": 3},
        {"minLength": -1},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"$ref": 3},
        {"$defs": []},
        {"$id": "https://example.invalid/s"},
        {"multipleOf": 0.1},
        {"oneOf": [{"type": "string"}]},
        {"not": {"type": "string"}},
        {"properties": {"a": {"uniqueItems": False}}},
        {"x-of-ours": 1},
        {"enum": [[1]]},
        {"const": {"a": 1}},
        {"$ref": "#"},
        {"$ref": "#/$defs/gone"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
        {"$ref": "#/$defs/x~1y", "$defs": {"x/y": {}}},
        {"$defs": {"unused": {"$ref": "#/$defs/gone"}}},
        {"properties": {"a": {"$defs": {"b": {}}}}},
        {"definitions": {"a": {"$ref": "#/gone"}}},
        {"default": nested(MAX_LEVELS)},
        chain(MAX_LEVELS),
    ],
    ids=lambda schema: canonical(schema)[:40],
)
def test_any_other_schema_is_left_to_jsonschema(schema: Json) -> None:
    assert common_schema(canonical(schema)) is None


def test_a_schema_may_be_as_deep_as_it_may_be_for_jsonschema() -> None:
    assert outcomes(chain(MAX_LEVELS - 2), "text", 1) == [True, False]


def test_a_value_that_takes_too_many_references_is_left_to_jsonschema() -> None:
    parts: dict[str, Json] = {f"p{at}": {"$ref": f"#/$defs/p{at + 1}"} for at in range(1_000)}
    named: dict[str, Json] = {f"a{at}": {"$ref": f"#/$defs/p{at}"} for at in reversed(range(1_000))}
    schema = canonical({"properties": named, "$defs": {**parts, "p1000": {"type": "string"}}})
    assert common_schema(schema) is not None
    assert (fits_common(schema, {"a999": "x"}), fits_common(schema, {"a0": "x"})) == (True, False)
