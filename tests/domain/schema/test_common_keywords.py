from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.samples import worked
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import simple_schema_predicate, violating_paths

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


def keywords(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Schemas of some keywords that are known."""
    some = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, unique=True),
            "enum": st.lists(leaves, max_size=6),
            **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), bounds),
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), counts),
            "required": st.lists(NAMES, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            **dict.fromkeys(("additionalProperties", "items"), inner),
            "anyOf": some,
            "format": st.sampled_from(["date", "email", "uri"]),
        },
    ).map(dict)


schemas = st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=4).filter(
    lambda schema: isinstance(schema, dict)
)


@given(schemas, values)
def test_a_check_says_what_jsonschema_says(schema: dict[str, Json], value: Json) -> None:
    fits = simple_schema_predicate(canonical(schema))
    assert fits
    assert fits(value) == Draft202012Validator(schema).is_valid(value)


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
    if fits := simple_schema_predicate(canonical(schema)):
        Draft202012Validator.check_schema(cast("bool", schema))
        assert not fits(value) or Draft202012Validator(cast("bool", schema)).is_valid(value)


def outcomes(schema: Json, *tried: Json) -> list[bool]:
    """Whether values fit a schema; the check of a common one agrees with jsonschema, or this fails."""
    judged = [Draft202012Validator(cast("bool", schema)).is_valid(value) for value in tried]
    if fits := simple_schema_predicate(canonical(schema)):
        assert [fits(value) for value in tried] == judged
    return [not violating_paths(canonical(schema), value) for value in tried]


@pytest.mark.parametrize(("schema", "fitting", "others"), worked("what fits is recognised"))
def test_what_fits_is_recognised(schema: Json, fitting: list[Json], others: list[Json]) -> None:
    assert outcomes(schema, *fitting, *others) == [True] * len(fitting) + [False] * len(others)


def nested(levels: int) -> Json:
    """An array in an array, and so on."""
    return [nested(levels - 1)] if levels > 1 else []


@pytest.mark.parametrize("schema", worked("any other schema is left to jsonschema"))
def test_any_other_schema_is_left_to_jsonschema(schema: Json) -> None:
    assert simple_schema_predicate(canonical(schema)) is None
