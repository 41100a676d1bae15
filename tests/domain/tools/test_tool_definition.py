from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._tools import ToolDefinition


def test_without_a_schema_a_tool_takes_no_arguments() -> None:
    nothing = canonical({"type": "object", "properties": {}, "additionalProperties": False})
    assert ToolDefinition.of("ping") == ToolDefinition("ping", "", nothing)


def test_an_empty_schema_is_kept() -> None:
    assert ToolDefinition.of("any", "", {}).parameters == "{}"


@pytest.mark.parametrize("name", ["a", "A-z_09", "x" * 64])
def test_a_name_that_every_provider_takes_is_kept(name: str) -> None:
    assert (ToolDefinition(name).name, ToolDefinition(name).outward) == (name, name)


def test_a_name_that_no_tool_can_have_is_refused() -> None:
    assert complaint(ConfigError, lambda: ToolDefinition("two words")).startswith(
        "tool name 'two words' does not fit"
    )


def test_a_schema_that_cannot_be_used_is_refused_by_the_name_of_its_tool() -> None:
    assert complaint(ConfigError, lambda: ToolDefinition("echo", parameters=canonical(["x"]))) == (
        "tool 'echo': a tool's parameters must be a JSON Schema object, not [\"x\"]"
    )


@pytest.mark.parametrize(
    ("tool", "part"),
    [
        (lambda: ToolDefinition("echo", "Say it \ud83d again."), "description"),
        (lambda: ToolDefinition("echo", parameters=canonical({"title": "\ud83d"})), "parameters"),
        (lambda: ToolDefinition.of("echo", "", {"title": "\ud83d"}), "parameters.title"),
    ],
)
def test_words_that_cannot_be_sent_are_refused_before_they_are(
    tool: Callable[[], ToolDefinition], part: str
) -> None:
    assert complaint(ConfigError, tool) == (
        f"tool 'echo': {part}: holds a lone surrogate, which cannot be sent"
    )


def test_a_schema_that_is_not_json_is_told_with_the_tool_and_the_place() -> None:
    schema: dict[str, Json] = {"properties": {"n": {"default": float("nan")}}}
    assert complaint(ConfigError, lambda: ToolDefinition.of("add", "", schema)) == (
        "tool 'add': parameters.properties.n.default: nan is not JSON; use a finite number"
    )


READ = ToolDefinition.of("files.read", "Read a file.", read_only=True)


class Room:
    """Writes its schema as a pydantic model does."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object", "description": "Book a room."}


def test_a_definition_may_come_from_a_model() -> None:
    tool = ToolDefinition.of("book", parameters=Room)
    assert tool.parameters == canonical(Room.model_json_schema())
    assert tool.description == "Book a room."
    assert ToolDefinition.of("book", "Book it.", Room).description == "Book it."
    described: dict[str, Json] = {"description": "Arguments."}
    assert ToolDefinition.of("book", parameters=described).description == ""


@pytest.mark.parametrize("kind", ["array", ["string", "null"], 3])
def test_a_schema_that_allows_no_object_is_told_with_its_type(kind: Json) -> None:
    told = complaint(ConfigError, lambda: ToolDefinition.of("book", "", {"type": kind}))
    assert told.startswith("tool 'book': ")
    assert "object" in told


def test_a_schema_may_allow_an_object_among_others_or_say_no_type() -> None:
    assert ToolDefinition.of("book", "", {"type": ["object", "null"]}).parameters
    assert ToolDefinition.of("book", "", {"properties": {}}).parameters


def test_what_gives_no_schema_is_told_with_the_name_of_the_tool() -> None:
    wrong: Any = 3
    told = complaint(ConfigError, lambda: ToolDefinition.of("book", "", wrong))
    assert told.startswith("tool 'book': 3 gives no schema")


def test_flags_are_given_by_name() -> None:
    tool = ToolDefinition.of("wait", polling=True, needs_approval=True, deadline_ms=5)
    assert (tool.polling, tool.needs_approval, tool.deadline_ms) == (True, True, 5)
    assert (tool.read_only, tool.exposed) == (False, True)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "9"])
def test_a_deadline_is_a_whole_number_of_milliseconds(limit: object) -> None:
    assert complaint(ConfigError, lambda: ToolDefinition("t", deadline_ms=cast("int", limit))) == (
        f"tool 't': deadline_ms: expected whole milliseconds of at least 1, or None, got {limit!r}"
    )


@pytest.mark.parametrize("key", ["max_args_bytes", "max_output_bytes"])
def test_a_limit_of_bytes_is_a_whole_number(key: str) -> None:
    limits: Mapping[str, Any] = {key: 0}
    assert complaint(ConfigError, lambda: ToolDefinition("t", **limits)) == (
        f"tool 't': {key}: expected whole bytes of at least 1, or None, got 0"
    )


def test_limits_of_one_are_allowed() -> None:
    tool = ToolDefinition("t", deadline_ms=1, max_args_bytes=1, max_output_bytes=1)
    assert (tool.deadline_ms, tool.max_args_bytes, tool.max_output_bytes) == (1, 1, 1)


def test_the_fingerprint_is_the_same_in_every_process_and_release() -> None:
    assert READ.fingerprint == "7d2bf6a46697590201a958703c67b527b63eb6c095a5e802574fff32553b8489"


def test_what_is_sent_has_the_outward_name_and_no_empty_list_of_required_names() -> None:
    schema: dict[str, Json] = {"type": "object", "required": []}
    tool = ToolDefinition.of("files.list", parameters=schema)
    assert tool.tree() == {
        "type": "function",
        "function": {"name": "files_list", "description": "", "parameters": {"type": "object"}},
    }
    assert tool.parameters == canonical(schema)
    assert tool.size == len(canonical(tool.tree()))
