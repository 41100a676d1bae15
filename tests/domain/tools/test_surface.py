from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.samples import ECHO, PING, complaint, printed_under
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, JsonText, canonical
from toolreel_core._schema.validation import check_schema
from toolreel_core._tools.surface import (
    SchemaLike,
    ToolDefinition,
    ToolSurface,
    opened,
    schema_text,
    schema_tree,
    sendable,
)


def test_a_definition_is_written_as_the_model_will_see_it() -> None:
    assert ECHO.tree() == {
        "type": "function",
        "function": {
            "name": "echo",
            "description": "Say it again.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    }


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


def test_a_surface_keeps_the_order_of_its_tools() -> None:
    surface = ToolSurface((PING, ECHO))
    assert surface.names == ("ping", "echo")
    assert surface.text == canonical([PING.tree(), ECHO.tree()])
    assert type(surface.text) is JsonText


def test_a_tool_is_found_by_its_name() -> None:
    assert dict(ToolSurface((PING, ECHO)).by_name) == {"ping": PING, "echo": ECHO}


def test_a_surface_without_tools_is_an_empty_list() -> None:
    assert ToolSurface().text == "[]"


def test_two_tools_may_not_share_a_name() -> None:
    again = ToolDefinition.of("echo", "Another.")
    assert complaint(ConfigError, lambda: ToolSurface((ECHO, PING, again))) == (
        "tool 'echo' is defined twice; rename one of the two"
    )


def test_surfaces_are_equal_by_their_definitions() -> None:
    assert ToolSurface((ECHO,)) == ToolSurface((ECHO,))
    assert ToolSurface((ECHO, PING)) != ToolSurface((PING, ECHO))


READ = ToolDefinition.of("files.read", "Read a file.", read_only=True)
SECRET = ToolDefinition.of("secret.door", exposed=False)
SURFACE = ToolSurface((ECHO, READ, SECRET), ("files.delete",))


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


def test_what_was_added_later_leaves_the_fingerprints_of_older_surfaces_alone() -> None:
    assert READ.fingerprint == "9213d23e403bb78447b0bfe27f411d98dc0180b75eb81aa25638c908d8d15ed3"


def test_what_is_sent_has_the_outward_name_and_no_empty_list_of_required_names() -> None:
    schema: dict[str, Json] = {"type": "object", "required": []}
    tool = ToolDefinition.of("files.list", parameters=schema)
    assert tool.tree() == {
        "type": "function",
        "function": {"name": "files_list", "description": "", "parameters": {"type": "object"}},
    }
    assert tool.parameters == canonical(schema)
    assert tool.size == len(canonical(tool.tree()))


def test_sizes_count_bytes() -> None:
    assert ToolDefinition("t", "é").size == ToolDefinition("t", "e").size + 1
    assert ToolSurface((ToolDefinition("t", "é"),)).size == ToolDefinition("t", "é").size + len("[]")


def test_what_is_not_exposed_is_known_and_is_not_sent() -> None:
    assert SURFACE.names == ("echo", "files_read")
    assert SURFACE.text == canonical([ECHO.tree(), READ.tree()])
    assert SURFACE.by_name["secret_door"] is SECRET


def test_a_tool_is_found_by_either_name() -> None:
    assert SURFACE.by_name["files.read"] is SURFACE.by_name["files_read"] is READ
    assert [SURFACE.inner(name) for name in ("files_read", "files.read", "echo", "gone")] == [
        "files.read",
        "files.read",
        "echo",
        "gone",
    ]


def test_what_is_masked_is_known_and_not_found() -> None:
    assert "files.delete" not in SURFACE.by_name
    assert "files_delete" not in SURFACE.by_name
    assert SURFACE.known == frozenset(
        {"echo", "files.read", "files_read", "secret.door", "secret_door", "files.delete", "files_delete"}
    )


@pytest.mark.parametrize(
    ("definitions", "why"),
    [
        (
            (READ, ToolDefinition("files_read")),
            "tools 'files.read' and 'files_read' are both 'files_read' to the model; rename one of the two",
        ),
        (
            (replace(READ, source="disk"), ToolDefinition("files/read", source="cloud")),
            "tools 'files.read' (source 'disk') and 'files/read' (source 'cloud') "
            "are both 'files_read' to the model; rename one of the two",
        ),
        (
            (replace(ECHO, source="a"), replace(ECHO, source="b")),
            "tool 'echo' comes from 'a' and from 'b'; rename one of the two, or leave one source out",
        ),
        (
            (replace(ECHO, source="a"), replace(ECHO, source="a")),
            "tool 'echo' is defined twice (source 'a'); rename one of the two",
        ),
    ],
)
def test_a_clash_names_both_sides_and_the_remedy(definitions: tuple[ToolDefinition, ...], why: str) -> None:
    assert complaint(ConfigError, lambda: ToolSurface(definitions)) == why


def test_a_tool_is_not_masked_and_callable_at_once() -> None:
    assert complaint(ConfigError, lambda: ToolSurface((READ,), ("files_read",))) == (
        "tool 'files_read' is masked and may be called at once; leave one of the two out"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"name": "files/read"},
        {"description": ""},
        {"parameters": canonical({})},
        {"read_only": False},
        {"polling": True},
        {"needs_approval": True},
        {"exposed": False},
        {"deadline_ms": 5},
        {"idempotent": True},
        {"max_args_bytes": 5},
        {"max_output_bytes": 5},
    ],
)
def test_the_fingerprint_differs_with_all_that_counts(change: Mapping[str, Any]) -> None:
    changed = replace(READ, **change)
    assert changed.fingerprint != READ.fingerprint
    assert ToolSurface((changed,)).fingerprint != ToolSurface((READ,)).fingerprint


def test_the_fingerprint_differs_with_the_order_and_the_mask() -> None:
    surfaces = [
        ToolSurface(),
        ToolSurface((ECHO, PING)),
        ToolSurface((PING, ECHO)),
        ToolSurface((ECHO,), ("ping",)),
        ToolSurface((ECHO,), ("ping", "pong")),
        ToolSurface((ECHO,), ("pingpong",)),
    ]
    assert len({surface.fingerprint for surface in surfaces}) == len(surfaces)


def test_where_a_tool_comes_from_is_no_part_of_it() -> None:
    moved = replace(READ, source="elsewhere")
    assert moved == READ
    assert ToolSurface((moved,)).fingerprint == ToolSurface((READ,)).fingerprint


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    program = "from tests.domain.tools.test_surface import SURFACE; print(SURFACE.fingerprint)"
    assert {printed_under(seed, program) for seed in range(3)} == {SURFACE.fingerprint}


@pytest.mark.parametrize(
    ("surface", "whole"),
    [
        (ToolSurface(), True),
        (ToolSurface((ECHO, PING)), True),
        (ToolSurface((replace(ECHO, source="somewhere"),)), True),
        (ToolSurface((ECHO,), ("ping",)), False),
        (ToolSurface((ECHO, READ)), False),
        (ToolSurface((SECRET,)), False),
        (ToolSurface((replace(ECHO, deadline_ms=1),)), False),
        (ToolSurface((replace(ECHO, idempotent=True),)), False),
        (ToolSurface((ToolDefinition.of("t", "", {"required": []}),)), False),
    ],
)
def test_a_surface_knows_whether_the_model_is_told_all_there_is(surface: ToolSurface, whole: bool) -> None:
    assert surface.told_whole == whole


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


def test_a_schema_has_its_text() -> None:
    assert schema_text({"type": "object"}) == '{"type":"object"}'


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


def test_a_function_is_no_definition() -> None:
    assert complaint(ConfigError, lambda: ToolSurface((cast("ToolDefinition", len),))) == (
        "tools: expected definitions, got builtin_function_or_method; "
        "write tools=PythonTools([function, ...]).surface"
    )
