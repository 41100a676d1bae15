"""What real MCP servers write into their schemas: understood, or refused by name, and nothing is fetched."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import Tool, ToolAnnotations

from toolreel.tools.mcp import ServerSettings, SkippedTool, server_tools
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import violations
from toolreel_core._tools import ToolDefinition

DEFAULTS = ServerSettings()
REMEDY = "; put what it means under $defs"
NODE: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["name"],
}


def offered(schema: Any) -> ToolDefinition:  # noqa: ANN401 - any schema
    (tool,) = server_tools("s", [Tool(name="t", input_schema=schema)], DEFAULTS).tools.values()
    return tool.definition


def takes(schema: Any, arguments: Json) -> bool:  # noqa: ANN401 - any schema
    return not violations(offered(schema).parameters, canonical(arguments))


def holding(schema: Any) -> dict[str, Any]:  # noqa: ANN401 - any schema
    """A schema of arguments with one property ``a``."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            holding({"$ref": "#/definitions/Color"}) | {"definitions": {"Color": {"enum": ["red"]}}},
            {"a": "red"},
            {"a": "blue"},
        ),
        (
            holding({"$ref": "#/$defs/Node"}) | {"$defs": {"Node": NODE}},
            {"a": {"name": "x", "children": [{"name": "y", "children": []}]}},
            {"a": {"name": "x", "children": [{"nom": "y"}]}},
        ),
        ({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, {"name": "x"}, {"name": 1}),
        (
            holding(
                {
                    "oneOf": [
                        {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["kind"]},
                        {"type": "object", "properties": {"kind": {"const": "y"}}, "required": ["kind"]},
                    ],
                    "discriminator": {"propertyName": "kind"},
                }
            ),
            {"a": {"kind": "y"}},
            {"a": {"kind": "z"}},
        ),
        # Draft-07 and draft-04, as zod and older generators write them.
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                **holding({"type": "integer", "exclusiveMinimum": 0}),
            },
            {"a": 1},
            {"a": 0},
        ),
        (holding({"type": "integer", "minimum": 0, "exclusiveMinimum": True}), {"a": 1}, {"a": 0}),
        ({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, {"a": 1, "b": 1}, {"c": 1}),
    ],
)
def test_a_schema_as_servers_write_it_is_understood(schema: Json, good: Json, bad: Json) -> None:
    """Each keyword alone is tested with the schemas of the core."""
    assert takes(schema, good)
    assert not takes(schema, bad)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({}, {"anything": 1}),
        ({"type": "object"}, {}),
        (holding(True), {"a": 1}),
        (holding({}), {"a": [None]}),
        (holding({"type": "string", "format": "date-time"}), {"a": "2026-11-22T05:00:00Z"}),
        (holding({"type": "string", "format": "a-format-of-ours"}), {"a": "x"}),
        (holding({"type": "string", "format": "uri", "default": "https://example.com"}), {"a": "x"}),
        (
            holding({"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}),
            {"a": "eA=="},
        ),
        (holding({"type": "integer", "default": "not one", "examples": [1], "deprecated": True}), {"a": 1}),
        (holding({"type": "string", "x-ui": {"widget": "textarea"}, "nullable": True}), {"a": "x"}),
        ({"type": "object", "required": [], "title": "Args", "$comment": "c", "description": "d"}, {}),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}, {}),
        ({"$id": "https://example.com/tool", "type": "object"}, {}),
    ],
)
def test_a_feature_that_says_nothing_of_validity_passes(schema: Json, arguments: Json) -> None:
    assert takes(schema, arguments)


def test_no_property_is_allowed_by_false() -> None:
    assert not takes({"properties": {"a": False}}, {"a": 1})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            holding({"$ref": "https://example.com/schema.json#/$defs/a"}),
            "$ref 'https://example.com/schema.json#/$defs/a' points outside its schema" + REMEDY,
        ),
        (
            holding({"$ref": "http://json-schema.org/draft-07/schema#"}),
            "$ref 'http://json-schema.org/draft-07/schema#' points outside its schema" + REMEDY,
        ),
        (
            holding({"$ref": "file:///etc/passwd"}),
            "$ref 'file:///etc/passwd' points outside its schema" + REMEDY,
        ),
        (holding({"$ref": "other.json"}), "$ref 'other.json' points outside its schema" + REMEDY),
        (
            {"$id": "https://example.com/a", **holding({"$ref": "b"})},
            "$ref 'b' points outside its schema" + REMEDY,
        ),
        (holding({"$ref": "#/$defs/lost"}), "$ref '#/$defs/lost' points to nothing in its schema" + REMEDY),
        (holding({"$ref": "#/properties/a"}), "the schema refers to itself without end"),
        (
            holding({"type": "text"}),
            "not a JSON Schema at $.properties.a.type: 'text' is not valid under any of the given schemas",
        ),
        (
            holding({"type": "string", "required": True}),
            "not a JSON Schema at $.properties.a.required: True is not of type 'array'",
        ),
    ],
)
def test_a_feature_that_is_not_understood_is_refused_by_name(schema: dict[str, Any], why: str) -> None:
    # Every test runs without network: what reached out would fail this one by another error.
    offer = server_tools(
        "s", [Tool(name="t", input_schema=schema), Tool(name="u", input_schema={})], DEFAULTS
    )
    assert offer.left_out == (SkippedTool("mcp_s_t", why),)
    assert [*offer.tools] == ["mcp_s_u"]


def test_a_definition_says_what_the_server_says() -> None:
    definition = offered({"type": "object"})
    assert (definition.name, definition.description, definition.read_only) == ("mcp_s_t", "", False)
    titled = server_tools("s", [Tool(name="t", title="Do it.", input_schema={})], DEFAULTS).tools["mcp_s_t"]
    assert titled.definition.description == "Do it."


def test_hints_are_believed_only_where_that_is_asked_for() -> None:
    tools = [
        Tool(name="look", input_schema={}, annotations=ToolAnnotations(read_only_hint=True)),
        Tool(name="wipe", input_schema={}, annotations=ToolAnnotations(destructive_hint=True)),
        Tool(name="other", input_schema={}),
    ]

    def flags(settings: ServerSettings) -> list[tuple[bool, bool]]:
        found = server_tools("s", tools, settings).tools.values()
        return [(tool.definition.read_only, tool.definition.needs_approval) for tool in found]

    assert flags(DEFAULTS) == [(False, False)] * 3
    assert flags(ServerSettings(trust_hints=True)) == [(True, False), (False, True), (False, False)]
    by_name = ServerSettings(read_only=("o*",), needs_approval=("*",), deadline_ms=9)
    assert flags(by_name) == [(False, True), (False, True), (True, True)]


def test_only_what_is_wanted_is_offered() -> None:
    tools = [Tool(name=name, input_schema={}) for name in ("git_log", "git_push", "status")]
    offer = server_tools("s", tools, ServerSettings(allow=("git_*",), deny=("*_push",)))
    assert ([*offer.tools], offer.left_out) == (["mcp_s_git_log"], ())


def test_names_that_a_surface_cannot_hold_are_made_to_fit_and_two_alike_are_told() -> None:
    tools = [
        Tool(name="a b", input_schema={}),
        Tool(name="a+b", input_schema={}),
        Tool(name="x" * 300, input_schema={}),
    ]
    offer = server_tools("my server", tools, DEFAULTS)
    assert [*offer.tools] == ["mcp_my_server_a_b"]
    alike, long = offer.left_out
    assert alike.why == "its server has another tool of this name, 'a b'"
    assert "does not fit" in long.why
