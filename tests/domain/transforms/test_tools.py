from __future__ import annotations

from typing import get_args

import pytest

from toolreel_core._jsontext import Json, Tree
from toolreel_core._settings import SchemaTransform
from toolreel_core._tools import ToolDefinition
from toolreel_core._transforms import (
    Change,
    compact_envelope,
    names,
    schema_gemini_subset,
    schema_inline_defs,
    schema_strip_strict,
    strip_function_descriptions,
    strip_strict,
)

TEXT: Tree = {"type": "string"}


def tool(parameters: Tree, **more: bool) -> Tree:
    return {
        "type": "function",
        "function": {"name": "put", "description": "Puts.", "parameters": parameters, **more},
    }


@pytest.mark.parametrize(
    "change", [strip_function_descriptions, schema_inline_defs, schema_gemini_subset, schema_strip_strict]
)
@pytest.mark.parametrize("entry", [{}, {"type": "web_search"}, {"type": "function", "function": None}])
def test_a_tool_that_is_no_function_stays(change: Change, entry: Tree) -> None:
    assert change(entry) == entry


@pytest.mark.parametrize("change", [schema_inline_defs, schema_gemini_subset, schema_strip_strict])
def test_a_function_without_parameters_stays(change: Change) -> None:
    entry: Tree = {"type": "function", "function": {"name": "put"}}
    assert change(entry) == entry


def test_the_description_of_a_function_is_left_out_and_those_of_its_parameters_stay() -> None:
    parameters: Tree = {"type": "object", "properties": {"a": {**TEXT, "description": "What."}}}
    entry = ToolDefinition.of("put", "Puts.", parameters).tree()
    assert isinstance(entry, dict)
    assert strip_function_descriptions(entry) == {
        "type": "function",
        "function": {"name": "put", "parameters": parameters},
    }


def test_references_in_parameters_are_written_out() -> None:
    parameters: Tree = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": TEXT}}
    assert schema_inline_defs(tool(parameters)) == tool({"properties": {"a": TEXT}})


def test_parameters_are_brought_into_the_subset_of_gemini() -> None:
    parameters: Tree = {"$schema": "x", "properties": {"a": {"const": "b"}}, "additionalProperties": False}
    assert schema_gemini_subset(tool(parameters)) == tool(
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["b"]}}}
    )


@pytest.mark.parametrize("strict", [True, False])
def test_strict_is_left_out_and_so_is_what_strict_mode_asks_for(strict: bool) -> None:
    inner: Tree = {"type": "object", "additionalProperties": False}
    parameters: Tree = {
        "properties": {"a": inner, "additionalProperties": TEXT},
        "additionalProperties": False,
    }
    assert schema_strip_strict(tool(parameters, strict=strict)) == tool(
        {"properties": {"a": {"type": "object"}, "additionalProperties": TEXT}}
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": True},
        {"additionalProperties": TEXT},
        {"additionalProperties": 0},
        {"properties": {"a": False}, "items": False},
        {"default": {"additionalProperties": False}},
    ],
)
def test_other_schemas_than_those_of_strict_mode_stay(schema: Tree) -> None:
    assert strip_strict(schema) == schema


def test_what_a_provider_may_ask_for_is_a_transform_of_tools() -> None:
    named = {f"schema_{name}" for name in get_args(SchemaTransform) if name != "none"}
    assert named == {name for name in names("tool") if name.startswith("schema_")}


FULL: Tree = {
    "ok": False,
    "tool_name": "fetch",
    "data": {"n": 0},
    "warnings": ["slow"],
    "errors": [{"code": "ARGUMENT_ERROR", "message": "no"}],
}


def with_data(data: Json) -> Tree:
    return {"ok": True, "tool_name": "fetch", "data": data, "warnings": [], "errors": []}


def test_what_is_empty_is_left_out_of_an_envelope() -> None:
    assert compact_envelope(with_data({})) == {"ok": True, "tool_name": "fetch"}
    assert compact_envelope(with_data({"n": 0})) == {"ok": True, "tool_name": "fetch", "data": {"n": 0}}
    assert compact_envelope({**FULL, "data": {}, "warnings": []}) == {
        key: FULL[key] for key in ("ok", "tool_name", "errors")
    }


@pytest.mark.parametrize("envelope", [FULL, {}, {"ok": False, "tool_name": ""}])
def test_an_envelope_with_nothing_empty_stays(envelope: Tree) -> None:
    assert compact_envelope(envelope) is envelope
