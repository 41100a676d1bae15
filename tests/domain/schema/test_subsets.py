from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._schema import gemini_subset

KNOWN = {
    *("anyOf", "description", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum"),
    *("minItems", "minLength", "minProperties", "minimum", "nullable", "pattern", "properties"),
    *("propertyOrdering", "required", "title", "type"),
}


def sent(schema: Json) -> Any:  # noqa: ANN401 - a parsed tree
    """What is sent of one property's schema."""
    whole: Any = gemini_subset({"type": "object", "properties": {"p": schema}})
    return whole["properties"]["p"]


@pytest.mark.parametrize("schema", worked("what gemini knows stays to the byte"))
def test_what_gemini_knows_stays_to_the_byte(schema: Tree) -> None:
    assert canonical(sent(schema)) == canonical(schema)


@pytest.mark.parametrize("refused", worked("what gemini refuses is left out"))
def test_what_gemini_refuses_is_left_out(refused: Tree) -> None:
    assert gemini_subset({"type": "object", **refused}) == {"type": "object"}
    assert sent({"type": "object", **refused}) == {"type": "object"}


@pytest.mark.parametrize(("about", "schema", "rewritten"), worked("what gemini is sent"))
def test_a_worked_case_is_sent_as_it_says(about: str, schema: Json, rewritten: Json) -> None:
    assert canonical(sent(schema)) == canonical(rewritten), about


@pytest.mark.parametrize(("about", "schema", "rewritten"), worked("what gemini is sent at the root"))
def test_a_root_is_always_an_object(about: str, schema: Tree, rewritten: Json) -> None:
    assert canonical(gemini_subset(schema)) == canonical(rewritten), about


def check(node: Any) -> None:  # noqa: ANN401 - a parsed tree
    assert node.keys() <= KNOWN
    if "anyOf" in node:
        assert node.keys() == {"anyOf"}
        assert len(node["anyOf"]) > 1
    else:
        assert node["type"] in {"array", "boolean", "integer", "number", "object", "string"}
        assert ("items" in node) == (node["type"] == "array")
        assert all(choice and isinstance(choice, str) for choice in node.get("enum", ["-"]))
        assert set(node.get("required", ())) <= set(node.get("properties", ()))
    parts = [*node.get("anyOf", ()), *node.get("properties", {}).values()]
    for part in [*parts, node["items"]] if "items" in node else parts:
        check(part)


_values: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, 1.5, "", "a", "string", "integer", "null", "date"),
        *(["string", "null"], {}, [], ["a", 1, None]),
    ]
)
_keywords = st.sampled_from(
    [
        *("type", "enum", "const", "format", "required", "minimum", "exclusiveMaximum", "nullable"),
        *("anyOf", "oneOf", "allOf", "items", "prefixItems", "properties", "description", "propertyOrdering"),
    ]
)
_schemas: st.SearchStrategy[Any] = st.recursive(
    _values,
    lambda inner: (
        st.dictionaries(_keywords, inner, max_size=4)
        | st.lists(inner, max_size=3)
        | st.builds(lambda part: {"properties": {"a": part}}, inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(_keywords, _schemas, max_size=4))
def test_whatever_comes_is_sent_in_the_subset_and_once_is_enough(schema: Tree) -> None:
    before = canonical(schema)
    subset = gemini_subset(schema)
    assert canonical(schema) == before
    check(subset)
    assert canonical(gemini_subset(subset)) == canonical(subset)
