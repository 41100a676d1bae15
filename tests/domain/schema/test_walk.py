from __future__ import annotations

import pytest
from hypothesis import given

from tests.samples import worked
from tests.strategies import json_objects
from toolreel_core._jsontext import Json, Tree
from toolreel_core._schema import Place, References, schemas_in

ROOT: Tree = {
    "properties": {"a": {"$ref": "#/$defs/A"}, "b/c": {"type": "string"}, "é ~": True},
    "anyOf": [{"type": "null"}, {"$ref": "#"}],
    "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"$ref": "#/$defs/A"}, "C": False, "D": 3},
}


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ("#", ()),
        ("#/$defs/A", ("$defs", "A")),
        ("#/%24defs/A", ("$defs", "A")),
        ("#/$defs/C", ("$defs", "C")),
        ("#/anyOf/1", ("anyOf", "1")),
        ("#/properties/b~1c", ("properties", "b/c")),
        ("#/properties/%C3%A9%20~0", ("properties", "é ~")),
    ],
)
def test_a_pointer_leads_to_a_schema(reference: str, place: Place) -> None:
    assert References(ROOT).target({"$ref": reference}) == place


@pytest.mark.parametrize(
    "reference",
    worked("what leads to no schema of this document has no target"),
)
def test_what_leads_to_no_schema_of_this_document_has_no_target(reference: Json) -> None:
    assert References(ROOT).target({"$ref": reference}) is None
    assert References(ROOT).target({}) is None


@given(json_objects)
def test_any_tree_can_be_searched(tree: Tree) -> None:
    assert References(tree).within(tree) == ()
    assert next(schemas_in(tree)) is tree
    assert list(schemas_in(None)) == []
