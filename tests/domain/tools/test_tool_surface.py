from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import ECHO, PING, complaint, worked
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import check_schema
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    ToolDefinition,
    ToolSource,
    ToolSurface,
    check_name,
    check_surface,
    compose,
    masked,
    matches_tool_name,
    outward_name,
    prefixed_name,
    resolve_root_reference,
    schema_tree,
    without_empty_required,
)

READ = ToolDefinition.of("files.read", "Read a file.", read_only=True)
SECRET = ToolDefinition.of("secret.door", exposed=False)
SURFACE = ToolSurface((ECHO, READ, SECRET), ("files.delete",))


def test_what_is_not_exposed_is_known_and_is_not_sent() -> None:
    assert SURFACE.names == ("echo", "files_read")
    assert SURFACE.text == canonical([ECHO.tree(), READ.tree()])
    assert SURFACE.by_name["secret_door"] is SECRET


def test_a_tool_is_found_by_either_name() -> None:
    assert SURFACE.by_name["files.read"] is SURFACE.by_name["files_read"] is READ
    assert [SURFACE.inner_name(name) for name in ("files_read", "files.read", "echo", "gone")] == [
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


def test_a_clash_names_both_sides_and_the_remedy() -> None:
    clashing = (replace(READ, source="disk"), ToolDefinition("files/read"))
    assert complaint(ConfigError, lambda: ToolSurface(clashing)) == (
        "tools 'files.read' (source 'disk') and 'files/read' are both 'files_read' to the model; "
        "rename one, or leave it out"
    )
    assert "are both 'echo' to the model" in complaint(
        ConfigError, lambda: ToolSurface((ECHO, replace(ECHO)))
    )


def test_a_tool_is_not_masked_and_callable_at_once() -> None:
    assert complaint(ConfigError, lambda: ToolSurface((READ,), ("files_read",))) == (
        "tool 'files_read' is masked and may be called at once; leave one of the two out"
    )


CHANGES: Mapping[str, Any] = dict(worked("a change that counts in the fingerprint of a tool", "tools"))


@pytest.mark.parametrize("key", CHANGES)
def test_the_fingerprint_differs_with_all_that_counts(key: str) -> None:
    change = {key: CHANGES[key]}
    changed = replace(READ, **change)
    assert changed.fingerprint != READ.fingerprint
    assert ToolSurface((changed,)).fingerprint != ToolSurface((READ,)).fingerprint


def test_the_fingerprint_differs_with_the_order_and_the_mask_and_not_with_the_source() -> None:
    assert ToolSurface((replace(READ, source="elsewhere"),)).fingerprint == ToolSurface((READ,)).fingerprint
    surfaces = [
        ToolSurface(),
        ToolSurface((ECHO, PING)),
        ToolSurface((PING, ECHO)),
        ToolSurface((ECHO,), ("ping",)),
        ToolSurface((ECHO,), ("ping", "pong")),
        ToolSurface((ECHO,), ("pingpong",)),
    ]
    assert len({surface.fingerprint for surface in surfaces}) == len(surfaces)


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
        (ToolSurface((ToolDefinition.of("t", "", {"type": "object"}),)), False),
    ],
)
def test_a_surface_knows_whether_the_model_is_told_all_there_is(surface: ToolSurface, whole: bool) -> None:
    assert surface.is_sent_whole == whole


READING = ToolDefinition.of("files.read")
WRITE = ToolDefinition.of("files.write")
FETCH = ToolDefinition.of("fetch")
FILES = ToolSource("files", (READING, WRITE))
WEB = ToolSource("web", (FETCH,))
ALL = ToolSurface((READING, WRITE, FETCH))


@pytest.mark.parametrize(
    ("allow", "deny", "left"), worked("what is allowed and not denied is left", "messages")
)
def test_what_is_allowed_and_not_denied_is_left(
    allow: list[str] | None, deny: list[str], left: list[str]
) -> None:
    surface = compose(FILES, WEB, allow=allow, deny=deny)
    assert surface == masked(ALL, allow=allow, deny=deny)
    assert [*surface.names] == left
    assert {*surface.masked, *(tool.name for tool in surface.definitions)} == {
        "files.read",
        "files.write",
        "fetch",
    }


def test_masking_again_only_takes_away() -> None:
    once = masked(ALL, deny=["files.write"])
    twice = masked(once, allow=["files.*"])
    assert twice.names == ("files_read",)
    assert twice.masked == ("files.write", "fetch")


def test_a_mask_that_means_no_tool_is_an_error_with_a_suggestion() -> None:
    assert complaint(ConfigError, lambda: masked(ALL, allow=["file_read"])) == (
        "allow: there is no tool 'file_read'; did you mean 'files_read'?"
    )
    assert "deny: there is no tool 'mcp_*'" in complaint(ConfigError, lambda: masked(ALL, deny=["mcp_*"]))


def test_sources_become_one_surface_in_their_order() -> None:
    assert compose(WEB, FILES) == ToolSurface((FETCH, READING, WRITE))
    assert compose(FILES, WEB) == ALL
    assert [tool.source for tool in compose(FILES, WEB).definitions] == ["files", "files", "web"]


def test_a_clash_is_one_even_if_a_mask_would_take_it_away() -> None:
    cloud = ToolSource("cloud", (WRITE,))
    assert "(source 'files') and 'files.write' (source 'cloud')" in (
        complaint(ConfigError, lambda: compose(FILES, cloud, deny=["files.write"]))
    )


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: ToolSurface((cast("ToolDefinition", len),)),
            "tools: expected definitions, got builtin_function",
        ),
        (lambda: masked(ALL, deny="fetch"), "deny: expected a list of names, got 'fetch'"),
        (lambda: compose(FILES, WEB, ToolSource("files", ())), "source 'files' is given twice; rename one"),
        (
            lambda: compose(cast("ToolSource", [FILES, WEB])),
            "compose: expected ToolSource values, one argument each",
        ),
    ],
)
def test_what_is_no_surface_mask_or_source_is_told(make: Callable[[], object], why: str) -> None:
    assert complaint(ConfigError, make).startswith(why)


SURROGATE = "holds a lone surrogate, which cannot be sent"
HIDDEN = ToolDefinition.of("hidden", "x" * 500, exposed=False)


def surface(*descriptions: str) -> ToolSurface:
    tools = [ToolDefinition.of(f"t{number}", words) for number, words in enumerate(descriptions)]
    return ToolSurface((*tools, HIDDEN))


def test_tools_beyond_a_limit_are_refused_with_the_largest() -> None:
    tools = compose(ToolSource("mail", surface("", "ccc", "bb", "a").definitions))
    size, total = tools.definitions[0].size, tools.size
    named = ", ".join(
        f"'t{number}' (source 'mail') ({size + more} bytes)"
        for number, more in ((1, 3), (2, 2), (3, 1), (0, 0))
    )
    remedy = "mask some (allow, deny, or exposed=False), or raise the limit"
    limits: list[tuple[dict[str, Any], str]] = [
        ({"max_tool_definitions_count": 3}, "count: 4 tools would be sent, the limit is 3"),
        ({"max_tool_definitions_bytes": 9}, f"bytes: {total} bytes of tools would be sent, the limit is 9"),
    ]
    for limit, what in limits:
        told = complaint(ConfigError, partial(check_surface, tools, LoopConfig(**limit)))
        assert told == f"max_tool_definitions_{what}; the largest: {named}; {remedy}"
        check_surface(tools, LoopConfig(tool_use_mode="disabled", **limit))


def test_without_a_schema_a_tool_takes_no_arguments() -> None:
    nothing = canonical({"type": "object", "properties": {}, "additionalProperties": False})
    assert ToolDefinition.of("ping") == ToolDefinition("ping", "", nothing)
    assert ToolDefinition.of("any", "", {}).parameters == "{}"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: ToolDefinition("t", parameters=canonical(["x"])),
            'a tool\'s parameters must be a JSON Schema object, not ["x"]',
        ),
        (lambda: ToolDefinition.of("t", "", {"type": ["string", "null"]}), "object"),
        (lambda: ToolDefinition("t", "Say \ud83d."), f"description: {SURROGATE}"),
        (lambda: ToolDefinition("t", parameters=canonical({"title": "\ud83d"})), f"parameters: {SURROGATE}"),
        (lambda: ToolDefinition.of("t", "", {"title": "\ud83d"}), f"parameters.title: {SURROGATE}"),
    ],
)
def test_what_no_provider_would_take_is_refused_by_the_name_of_its_tool(
    make: Callable[[], object], why: str
) -> None:
    told = complaint(ConfigError, make)
    assert told.startswith("tool 't': ")
    assert why in told


def test_a_definition_may_come_from_a_model() -> None:
    tool = ToolDefinition.of("book", parameters=Model)
    assert tool.parameters == canonical(Model.model_json_schema())
    assert tool.description == "A point."
    assert ToolDefinition.of("book", "Book it.", Model).description == "Book it."
    described: dict[str, Json] = {"description": "Arguments."}
    assert ToolDefinition.of("book", parameters=described).description == ""


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "9"])
@pytest.mark.parametrize("key", ["deadline_ms", "max_args_bytes", "max_output_bytes"])
def test_a_limit_is_a_whole_number(key: str, limit: object) -> None:
    limits: Mapping[str, Any] = {key: limit}
    assert complaint(ConfigError, lambda: ToolDefinition("t", **limits)) == (
        f"tool 't': {key}: expected a whole number of at least 1 or nothing, got {limit!r}"
    )


def test_the_deadline_of_a_tool_goes_before_that_of_its_host() -> None:
    assert [replace(READ, deadline_ms=ms).seconds(60.0) for ms in (None, 500)] == [60.0, 0.5]


def test_the_fingerprint_is_the_same_in_every_process_and_release() -> None:
    assert READ.fingerprint == "7d2bf6a46697590201a958703c67b527b63eb6c095a5e802574fff32553b8489"


def test_what_is_sent_has_the_outward_name_and_no_empty_list_of_required_names() -> None:
    schema: dict[str, Json] = {"type": "object", "required": []}
    tool = ToolDefinition.of("files.list", parameters=schema)
    sent: Json = {"type": "object", "properties": {}}
    assert tool.tree() == {
        "type": "function",
        "function": {"name": "files_list", "description": "", "parameters": sent},
    }
    assert tool.parameters == canonical(schema)
    assert tool.size == len(canonical(tool.tree()))


INNER = st.text("abcXYZ019_./:-", min_size=1, max_size=256)


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


@pytest.mark.parametrize(
    ("pattern", "name", "fits"), worked("a pattern means a tool in either form", "messages")
)
def test_a_pattern_means_a_tool_in_either_form(pattern: str, name: str, fits: bool) -> None:
    assert matches_tool_name(pattern, name) == fits


def test_a_tool_of_a_source_has_a_name_that_says_whose_it_is() -> None:
    assert prefixed_name("mcp", "git", "git_log") == "mcp_git_git_log"
    assert prefixed_name("mcp", "my files", "read.text") == "mcp_my_files_read.text"
    assert prefixed_name("mcp", "é", "a/b:c") == "mcp___a/b:c"
    # One that is too long is shortened, with a digest.
    names = [prefixed_name("mcp", "s", "x" * length) for length in (300, 299)]
    assert [len(name) for name in names] == [256, 256]
    assert names[0] != names[1]


POINT: Mapping[str, Json] = {
    "type": "object",
    "description": "A point.",
    "properties": {"x": {"type": "integer"}},
}
NODE: Mapping[str, Json] = {"properties": {"next": {"$ref": "#/$defs/Node"}}}


class Model:
    """Writes its schema as a pydantic model does."""

    @classmethod
    def model_json_schema(cls, *, by_alias: bool = True) -> dict[str, Any]:
        return dict(POINT) if by_alias else {}


def writing(**methods: Callable[[], object]) -> Any:  # noqa: ANN401 - something that has these methods
    return SimpleNamespace(**methods)


def test_whatever_can_write_its_schema_does() -> None:
    adapted: Json = {"$ref": "#/$defs/Point", "$defs": {"Point": POINT}}
    assert schema_tree(Model) == schema_tree(Model()) == POINT
    assert schema_tree(writing(json_schema=lambda: adapted)) == POINT
    both = writing(json_schema=lambda: adapted, model_json_schema=lambda: {"title": "Both"})
    assert schema_tree(both) == {"title": "Both"}


def test_what_gives_no_schema_is_told() -> None:
    def broken() -> object:
        raise LookupError("no schema for a socket\nread more at …")

    given: list[tuple[Any, str]] = [
        (3, "3 gives no schema; expected a JSON Schema as a mapping, or something with json_schema()"),
        (writing(model_json_schema=broken), " failed with LookupError: no schema for a socket"),
        (writing(json_schema=lambda: "{}"), " returned a str; expected a JSON Schema as a mapping"),
    ]
    for each, why in given:
        told = complaint(ConfigError, partial(schema_tree, each))
        assert why in told
        assert "read more" not in told


def test_a_root_that_refers_to_a_part_becomes_the_part() -> None:
    tree: Mapping[str, Json] = {"$ref": "#/$defs/P", "$defs": {"P": POINT, "Q": {}}, "title": "Place"}
    assert resolve_root_reference(tree) == {**POINT, "title": "Place", "$defs": {"Q": {}}}


def test_a_part_that_is_still_referred_to_stays() -> None:
    assert resolve_root_reference({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}) == {
        **NODE,
        "$defs": {"Node": NODE},
    }
    by_another: Mapping[str, Json] = {"P": {}, "Q": {"$ref": "#/$defs/P"}}
    assert resolve_root_reference({"$ref": "#/$defs/P", "$defs": by_another}) == {"$defs": by_another}


@pytest.mark.parametrize("tree", worked("any other root is left alone", "messages"))
def test_any_other_root_is_left_alone(tree: Mapping[str, Json]) -> None:
    assert resolve_root_reference(tree) is tree


@pytest.mark.parametrize(
    ("schema", "sent"), worked("an empty list of required names is left out at any depth", "messages")
)
def test_an_empty_list_of_required_names_is_left_out_at_any_depth(schema: Json, sent: Json) -> None:
    check_schema(canonical(schema))
    assert without_empty_required(schema) == sent
    assert without_empty_required(sent) == sent


@pytest.mark.parametrize(
    ("schema", "sent"), worked("a root is sent with its type and properties", "messages")
)
def test_a_root_is_sent_with_its_type_and_properties(schema: Json, sent: Json) -> None:
    surface = ToolSurface((ToolDefinition("t", parameters=canonical(schema)),))
    function: Json = {"name": "t", "description": "", "parameters": sent}
    assert surface.text == canonical([{"type": "function", "function": function}])
    assert surface.schemas["t"] == schema  # what arguments are checked against stays
