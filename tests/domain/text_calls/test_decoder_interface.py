from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json, canonical
from toolreel_core._text_calls import Offered, TextCall, found


def test_a_call_has_canonical_arguments() -> None:
    assert found("ping", {"a": "\ud800"}, "hermes_json", 7) == TextCall(
        "ping", canonical({"a": "\ufffd"}), "", "hermes_json", "7"
    )


@pytest.mark.parametrize(("raw", "kept"), [(" x ", "x"), (3, "3"), (True, ""), (None, ""), ([], "")])
def test_an_id_is_text_or_a_number(raw: Json, kept: str) -> None:
    call = found("ping", {}, "hermes_json", raw)
    assert call
    assert call.id == kept


def deep(levels: int) -> Json:
    tree: Json = 1
    for _ in range(levels):
        tree = [tree]
    return tree


@pytest.mark.parametrize(
    ("name", "value"),
    [("", 1), ("a", float("inf")), ("a", deep(70)), ("a", deep(50_000)), ("a", 10**5000)],
    ids=range(5),
)
def test_what_cannot_be_sent_to_a_tool_is_no_call(name: str, value: Json) -> None:
    assert found(name, {"a": value}, "hermes_json") is None


def test_a_tool_that_is_called_like_a_namespace_keeps_its_name() -> None:
    assert Offered(frozenset({"functions.ping", "ping"})).named("functions.ping") == "functions.ping"


UNIT: Json = {"type": "string", "enum": ["1", "2"]}
TREE: Json = {
    "$defs": {"Unit": UNIT, "Loop": {"$ref": "#/$defs/Loop"}, "a/b": {"$ref": "#/$defs/Unit"}},
    "properties": {
        "unit": {"$ref": "#/$defs/Unit", "title": "U"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]},
        "chain": {"$ref": "#/$defs/a~1b"},
        "loop": {"$ref": "#/$defs/Loop"},
        "odd": {"anyOf": 7},
        "any": True,
    },
}


@pytest.mark.parametrize(
    ("key", "schema"),
    [
        ("unit", {"type": "string", "enum": ["1", "2"], "title": "U"}),
        ("maybe", {"anyOf": [UNIT, {"type": "null"}]}),
        ("chain", UNIT),
        ("loop", {"type": "object"}),
        ("odd", {"anyOf": 7}),
        ("any", True),
        ("other", None),
    ],
)
def test_references_in_the_schema_of_a_parameter_are_followed(key: str, schema: Json) -> None:
    assert Offered(frozenset({"a"}), {"a": TREE}).parameter("a", key) == schema
