"""The fast validator against jsonschema: whatever it lets pass, jsonschema lets pass, and the reverse."""

from __future__ import annotations

import runpy
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.samples import complaint
from toolreel._errors import MissingExtra
from toolreel.presets import _jsonschema_rs as fast_validation
from toolreel.presets._jsonschema_rs import compiled_check, install
from toolreel_core._jsontext.canonical import Json, JsonText, canonical
from toolreel_core._schema.validation import check_schema, violations

BIG = 2**53
SMALL = [0, 1, -1, 2, 1.0, 0.5, -0.0, BIG - 1, BIG]
NUMBERS = [*SMALL, 1e300, 1e16, BIG + 1, -BIG - 1, 2**63, 2**64 + 1, 10**40]
TEXTS = ["", "a", "ab", "é", "\U0001f600", "1", "e\u0301", "null"]
LEAVES: list[Json] = [None, True, False, *NUMBERS, *TEXTS]
NAMES = st.sampled_from(["a", "b", "\u00e9"])
KINDS = ["array", "boolean", "integer", "null", "number", "object", "string"]

values: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
counts = st.integers(0, 3)
bounds = st.sampled_from(SMALL)
exact = values.filter(lambda value: fast_validation.compiled_check(canonical({"const": value})) is not None)


def keywords(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Schemas of some keywords that are in use."""
    some = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, unique=True),
            "const": exact,
            "enum": st.lists(exact, max_size=3),
            **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), bounds),
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), counts),
            **dict.fromkeys(("minProperties", "maxProperties"), counts),
            "uniqueItems": st.booleans(),
            "required": st.lists(NAMES, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            **dict.fromkeys(("additionalProperties", "items", "contains", "propertyNames"), inner),
            **dict.fromkeys(("not", "if", "then", "else"), inner),
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
            "format": st.sampled_from(["date", "email", "uri"]),
        },
    ).map(dict)


schemas = st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=4).filter(
    lambda schema: isinstance(schema, dict)
)


@given(schemas, values)
def test_both_validators_agree_on_every_value(schema: dict[str, Json], value: Json) -> None:
    check = compiled_check(canonical(schema))
    assert check is not None
    assert check(value) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^a"},
        {"properties": {"a": {"multipleOf": 0.1}}},
        {"$defs": {"a": {}}, "$ref": "#/$defs/a"},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"maximum": BIG + 1},
        {"enum": [[{"a": 1e300}]]},
        {"items": {"unevaluatedProperties": False}},
        {"allOf": [True, {"dependentRequired": {"a": ["b"]}}]},
    ],
    ids=str,
)
def test_a_schema_in_which_they_might_differ_is_left_to_jsonschema(schema: Json) -> None:
    assert compiled_check(canonical(schema)) is None


def test_what_does_not_fit_is_told_in_the_same_words() -> None:
    schema = canonical({"properties": {"n": {"type": "integer"}}, "required": ["n"], "uniqueItems": True})
    cases = [canonical(case) for case in ({"n": 1}, {"n": "1"}, {}, {"n": None, "m": 1})]

    def told(arguments: JsonText) -> list[str]:
        return [str(violation) for violation in violations(schema, arguments)]

    check_schema(schema)
    before = [told(case) for case in cases]
    install()
    assert [told(case) for case in cases] == before
    assert before[:2] == [[], ['/n: expected integer, got "1"']]


def test_without_the_validator_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    told = complaint(MissingExtra, lambda: runpy.run_path(str(fast_validation.__file__)))
    assert "toolreel[fast]" in told
