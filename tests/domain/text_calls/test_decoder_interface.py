from __future__ import annotations

import re

import pytest

from tests.domain.text_calls.asking import OFFERED, source
from toolreel_core._jsontext import Json, canonical
from toolreel_core._text_calls import Found, Offered, Source, found


def test_a_call_has_canonical_arguments() -> None:
    assert found("ping", {"a": "\ud800"}, "hermes_json", 7) == Found(
        "ping", canonical({"a": "\ufffd"}), "hermes_json", "7"
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


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (" ping\n", "ping"),
        ('"ping"', "ping"),
        ("`ping`", "ping"),
        ("functions.ping", "ping"),
        ("default_api.ping", "ping"),
        ("default_api:ping", "ping"),
        ("functions.pong", "functions.pong"),
        ("PING", "PING"),
        ("stock-lookup", "stock-lookup"),
    ],
)
def test_a_name_loses_its_namespace_only_where_a_tool_remains(raw: str, name: str) -> None:
    assert OFFERED.named(raw) == name


def test_a_tool_that_is_called_like_a_namespace_keeps_its_name() -> None:
    assert Offered(frozenset({"functions.ping", "ping"})).named("functions.ping") == "functions.ping"


def test_the_longest_name_that_a_text_begins_with_counts() -> None:
    offered = Offered(frozenset({"get", "get_all", "put"}))
    assert [offered.beginning(text) for text in ("get_allx", "getx", "x")] == ["get_all", "get", ""]


def test_parameters_are_those_of_the_schema() -> None:
    assert list(OFFERED.parameters("set_flag")) == ["flag", "value"]
    assert OFFERED.parameters("pong") == {}
    assert Offered(frozenset({"a"}), {"a": {"properties": 7}}).parameters("a") == {}


UNIT: Json = {"type": "string", "enum": ["1", "2"]}
TREE: Json = {
    "$defs": {"Unit": UNIT, "Loop": {"$ref": "#/$defs/Loop"}, "a/b": {"$ref": "#/$defs/Unit"}},
    "properties": {
        "unit": {"$ref": "#/$defs/Unit", "title": "U"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]},
        "chain": {"$ref": "#/$defs/a~1b"},
        "loop": {"$ref": "#/$defs/Loop"},
        "lost": {"$ref": "#/$defs/Nowhere/at/all"},
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
        ("loop", {"$ref": "#/$defs/Loop"}),
        ("lost", {}),
        ("odd", {"anyOf": 7}),
        ("any", True),
        ("other", None),
    ],
)
def test_references_in_the_schema_of_a_parameter_are_followed(key: str, schema: Json) -> None:
    assert Offered(frozenset({"a"}), {"a": TREE}).parameter("a", key) == schema


def test_a_call_is_satisfied_by_what_its_tool_requires() -> None:
    assert OFFERED.satisfied("reserve_part", {"part": "x", "qty": 1})
    assert not OFFERED.satisfied("reserve_part", {"part": "x"})
    assert OFFERED.satisfied("pong", {})


def test_arguments_tell_their_tool_if_only_one_takes_them() -> None:
    assert OFFERED.taking({"part": "x", "qty": 1}) == "reserve_part"
    assert OFFERED.taking({"part": "x"}) == "stock_lookup"
    assert OFFERED.taking({"other": 1}) == ""
    assert Offered(frozenset({"a", "b"}), {"a": {}, "b": {}}).taking({}) == ""


A = re.compile("a+")


def test_places_are_found_from_anywhere_in_any_order() -> None:
    text = source("xaxxaax")
    for start in (0, 1, 2, 5, 6, 7, 0, 3):
        found, expected = text.search(A, start), A.search(text.text, start)
        assert (found and found.span()) == (expected and expected.span())


def test_a_call_is_named_after_a_dialect_that_is_enabled() -> None:
    text = Source("", OFFERED, frozenset({"glm_xml"}), cut=False)
    assert text.prefer("hermes_json", "glm_xml") == "glm_xml"
    assert text.prefer("hermes_json", "qwen_xml") == "hermes_json"
