from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint, worked
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import check_schema
from toolreel_core._tools import (
    SchemaLike,
    ToolDefinition,
    check_name,
    matches,
    opened,
    outward_name,
    prefixed_name,
    schema_text,
    schema_tree,
    sendable,
)


def test_without_a_schema_a_tool_takes_no_arguments() -> None:
    nothing = canonical({"type": "object", "properties": {}, "additionalProperties": False})
    assert ToolDefinition.of("ping") == ToolDefinition("ping", "", nothing)


def test_an_empty_schema_is_kept() -> None:
    assert ToolDefinition.of("any", "", {}).parameters == "{}"


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


def test_flags_are_given_by_name() -> None:
    tool = ToolDefinition.of("wait", polling=True, needs_approval=True, deadline_ms=1)
    assert (tool.polling, tool.needs_approval, tool.deadline_ms) == (True, True, 1)
    assert (tool.read_only, tool.exposed) == (False, True)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "9"])
@pytest.mark.parametrize(
    ("key", "unit"),
    [("deadline_ms", "milliseconds"), ("max_args_bytes", "bytes"), ("max_output_bytes", "bytes")],
)
def test_a_limit_is_a_whole_number(key: str, unit: str, limit: object) -> None:
    limits: Mapping[str, Any] = {key: limit}
    assert complaint(ConfigError, lambda: ToolDefinition("t", **limits)) == (
        f"tool 't': {key}: expected whole {unit} of at least 1, or None, got {limit!r}"
    )


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


INNER = st.text("abcXYZ019_./:-", min_size=1, max_size=256)
LONG = "files." + "x" * 60


@pytest.mark.parametrize("name", ["a", "A-z_09", "files.read", "mcp/server:tool", "x" * 256])
def test_a_name_may_say_more_inside_than_outside(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "two words", "é", "newline\n", "x" * 257])
def test_any_other_name_is_refused_with_what_is_allowed(name: str) -> None:
    assert complaint(ConfigError, lambda: check_name(name)) == (
        f"tool name {name!r} does not fit [a-zA-Z0-9_./:-]{{1,256}}; use letters, digits and _ . / : - only"
    )


@pytest.mark.parametrize(
    ("name", "outward"), worked("the model sees a name that every provider takes", "messages")
)
def test_the_model_sees_a_name_that_every_provider_takes(name: str, outward: str) -> None:
    assert outward_name(name) == outward


@given(INNER)
def test_an_outward_name_fits_the_rule_and_is_its_own(name: str) -> None:
    outward = outward_name(name)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", outward)
    assert outward_name(outward) == outward


def test_long_names_that_begin_alike_stay_apart() -> None:
    assert outward_name(LONG + "a") != outward_name(LONG + "b")


@pytest.mark.parametrize(
    ("pattern", "name", "fits"), worked("a pattern means a tool in either form", "messages")
)
def test_a_pattern_means_a_tool_in_either_form(pattern: str, name: str, fits: bool) -> None:
    assert matches(pattern, name) == fits


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("mcp", "git", "git_log"), "mcp_git_git_log"),
        (("mcp", "my files", "read.text"), "mcp_my_files_read.text"),
        (("mcp", "é", "a/b:c"), "mcp___a/b:c"),
    ],
)
def test_a_tool_of_a_source_has_a_name_that_says_whose_it_is(parts: tuple[str, ...], name: str) -> None:
    assert prefixed_name(*parts) == name
    check_name(name)


def test_a_name_that_is_too_long_is_shortened_with_a_digest() -> None:
    names = [prefixed_name("mcp", "s", "x" * length) for length in (300, 299)]
    assert [len(name) for name in names] == [256, 256]
    assert names[0] != names[1]


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


@pytest.mark.parametrize(
    ("schema", "sent"), worked("an empty list of required names is left out at any depth", "messages")
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
