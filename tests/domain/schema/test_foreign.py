"""Schemas from outside: what cannot be used is left out and named, and never makes them reject more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import worked
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import check_schema, modernize_schema, usable_schema, violations

WIDE = "(?<=a+)b"
ELSEWHERE: Json = {"$ref": "https://example.com/a.json"}


def holding(schema: Json) -> dict[str, Any]:
    """A schema of arguments with one property ``a``."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


def takes(schema: dict[str, Any], arguments: Json) -> bool:
    return not violations(canonical(usable_schema(schema)[0]), canonical(arguments))


def test_a_schema_that_can_be_used_stays_as_it_is() -> None:
    assert usable_schema(holding({"type": "string"})) == (holding({"type": "string"}), ())


@pytest.mark.parametrize(("schema", "kept", "why"), worked("what cannot be used is left out and named"))
def test_what_cannot_be_used_is_left_out_and_named(schema: Json, kept: Json, why: str) -> None:
    # Every test runs without network: what reached out would fail this one by another error.
    assert usable_schema(holding(schema)) == (holding(kept), (why,))


@pytest.mark.parametrize(("schema", "kept", "why"), worked("the same at the top"))
def test_the_same_at_the_top(schema: dict[str, Any], kept: Json, why: str) -> None:
    tree, (left_out,) = usable_schema(schema)
    assert (tree, why in left_out) == (kept, True)


@pytest.mark.parametrize("around", worked("what is left out never makes a schema reject more"))
def test_what_is_left_out_never_makes_a_schema_reject_more(around: Json) -> None:
    assert len(usable_schema(holding(around))[1]) == 2
    assert takes(holding(around), {"a": "x"})
    assert takes(holding(around), {"a": {"b": 1}})


def test_a_schema_that_nothing_helps_allows_any_arguments() -> None:
    deep: Json = 1
    for _ in range(70):
        deep = [deep]
    assert usable_schema({"type": "object", "default": deep}) == (
        {"type": "object"},
        ("the whole schema: a schema may not nest deeper than 64 levels",),
    )


def test_a_reference_that_leads_nowhere_leaves_patterns_elsewhere_as_they_are() -> None:
    schema = {"properties": {"a": ELSEWHERE, "b": {"pattern": r"^(?<a>x)$"}}}
    assert usable_schema(schema)[0] == {"properties": {"a": {}, "b": {"pattern": r"^(?<a>x)$"}}}


def test_a_schema_with_faults_without_end_allows_any_arguments() -> None:
    lost = {f"p{number}": {"$ref": f"https://example.com/{number}.json"} for number in range(30)}
    assert usable_schema({"properties": lost})[0] == {"type": "object"}
    alike = dict.fromkeys(lost, ELSEWHERE)
    assert usable_schema({"properties": alike})[0] == {"properties": {name: {} for name in lost}}


def test_faults_are_named_in_the_same_order_at_every_time() -> None:
    wrong: dict[str, Json] = {f"p{number}": {"type": "string", "required": True} for number in range(40)}
    tree, left_out = usable_schema({"properties": wrong})
    assert left_out == tuple(sorted(left_out))
    assert (len(left_out), tree["properties"]) == (40, {name: {"type": "string"} for name in wrong})


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^(?<year>\d{4})-\k<year>$", "2026-2026", "2026-2027"),
        (r"^\(?<a>$", "(<a>", "((<a>"),
    ],
)
def test_a_pattern_of_ecma_262_is_understood(pattern: str, good: str, bad: str) -> None:
    part: Json = {"pattern": pattern}
    behind: dict[str, Json] = {**holding({"$ref": "#/$defs/A"}), "$defs": {"A": part}}
    for schema in (holding(part), holding({"oneOf": [part]}), behind):
        assert usable_schema(schema) == (schema, ())
        assert takes(schema, {"a": good})
        assert not takes(schema, {"a": bad})
    named = {"patternProperties": {pattern: {"type": "null"}}}
    assert takes(named, {bad: 1})
    assert not takes(named, {good: 1})


@pytest.mark.parametrize("pattern", ["(", WIDE, r"\p{L}", "[^]"])
def test_a_pattern_that_python_does_not_have_is_named(pattern: str) -> None:
    (why,) = usable_schema(holding({"pattern": pattern}))[1]
    assert why.startswith(f"the pattern {pattern!r} cannot be used: ")


@pytest.mark.parametrize("pattern", worked("a pattern that takes linear time is kept"))
def test_a_pattern_that_takes_linear_time_is_kept(pattern: str) -> None:
    assert usable_schema(holding({"pattern": pattern})) == (holding({"pattern": pattern}), ())


@pytest.mark.parametrize("pattern", worked("a pattern that may backtrack without end is left out and named"))
def test_a_pattern_that_may_backtrack_without_end_is_left_out_and_named(pattern: str) -> None:
    """A server could stop a run for years with one pattern and forty letters."""
    schema, left_out = usable_schema(holding({"type": "string", "pattern": pattern}))
    assert (schema, len(left_out)) == (holding({"type": "string"}), 1)
    assert repr(pattern) in left_out[0]
    named = {"patternProperties": {pattern: {}}, "additionalProperties": False}
    assert takes(named, {"a" * 40 + "!": 1})


@pytest.mark.parametrize(("older", "newer"), worked("older words are said in newer ones"))
def test_older_words_are_said_in_newer_ones(older: Json, newer: Json) -> None:
    assert modernize_schema(older) == newer
    assert modernize_schema(newer) == newer
    check_schema(canonical(newer))


@pytest.mark.parametrize("schema", worked("what has no older words stays as it is"))
def test_what_has_no_older_words_stays_as_it_is(schema: Json) -> None:
    assert modernize_schema(schema) == schema
