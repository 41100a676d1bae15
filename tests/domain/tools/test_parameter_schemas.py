from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import check_schema
from toolreel_core._tools import SchemaLike, opened, schema_text, schema_tree, sendable

POINT: Mapping[str, Json] = {"type": "object", "properties": {"x": {"type": "integer"}}}
NODE: Mapping[str, Json] = {"properties": {"next": {"$ref": "#/$defs/Node"}}}


class Model:
    """Writes its schema as a pydantic model does."""

    @classmethod
    def model_json_schema(cls, *, by_alias: bool = True) -> dict[str, Any]:
        return dict(POINT) if by_alias else {}


class Adapted:
    """Writes its schema as an adapter of some type does."""

    def json_schema(self) -> Mapping[str, Any]:
        return {"$ref": "#/$defs/Point", "$defs": {"Point": POINT}}


class Both(Adapted):
    """Has one method that says more about the class than the other."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"title": "Both"}


class Broken:
    """Cannot be written down."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        raise LookupError("no schema for a socket\nread more at …")

    def __repr__(self) -> str:
        return "Broken()"


class Wordy:
    """Writes a schema as text."""

    json_schema = staticmethod(lambda: "{}")

    def __repr__(self) -> str:
        return "Wordy()"


def test_a_mapping_is_the_schema_itself() -> None:
    assert schema_tree(POINT) is POINT


def test_whatever_can_write_its_schema_does() -> None:
    assert schema_tree(Model) == POINT
    assert schema_tree(Model()) == POINT
    assert schema_tree(Adapted()) == POINT
    assert schema_tree(Both()) == {"title": "Both"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            3,
            "3 gives no schema; expected a JSON Schema as a mapping, "
            "or something with json_schema() or model_json_schema()",
        ),
        (Broken(), "model_json_schema() of Broken() failed with LookupError: no schema for a socket"),
        (Wordy(), "json_schema() of Wordy() returned a str; expected a JSON Schema as a mapping"),
    ],
)
def test_what_gives_no_schema_is_told(given: object, why: str) -> None:
    assert complaint(ConfigError, lambda: schema_tree(cast("SchemaLike", given))) == why


def test_a_class_whose_method_wants_an_instance_is_told_so() -> None:
    wrong: Any = Adapted
    assert complaint(ConfigError, lambda: schema_tree(wrong)).endswith(
        "missing 1 required positional argument: 'self'; of a class, it has to be a class method"
    )


def test_a_root_that_refers_to_a_part_becomes_the_part() -> None:
    tree: Mapping[str, Json] = {"$ref": "#/$defs/P", "$defs": {"P": POINT, "Q": {}}, "title": "Place"}
    assert opened(tree) == {**POINT, "title": "Place", "$defs": {"Q": {}}}


def test_a_part_that_is_still_referred_to_stays() -> None:
    assert opened({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}) == {**NODE, "$defs": {"Node": NODE}}
    by_another: Mapping[str, Json] = {"P": {}, "Q": {"$ref": "#/$defs/P"}}
    assert opened({"$ref": "#/$defs/P", "$defs": by_another}) == {"$defs": by_another}


@pytest.mark.parametrize(
    "tree",
    [
        {"type": "object"},
        {"$ref": "#"},
        {"$defs": {"P": {}}},
        {"$ref": "#/$defs/gone", "$defs": {"P": {}}},
        {"$ref": "#/$defs/P", "$defs": {"P": True}},
    ],
)
def test_any_other_root_is_left_alone(tree: Mapping[str, Json]) -> None:
    assert opened(tree) is tree


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: {"default": {1}}, "parameters.default: a set is not JSON; use None"),
        (lambda: {"enum": [float("nan")]}, "parameters.enum[0]: nan is not JSON; use a finite number"),
    ],
)
def test_what_json_cannot_carry_is_refused(make: Callable[[], Any], why: str) -> None:
    assert complaint(ConfigError, lambda: schema_text(make())).startswith(why)


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
