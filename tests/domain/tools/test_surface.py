from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.samples import ECHO, PING, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core._tools import ToolDefinition, ToolSurface


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


def test_a_tool_is_found_by_its_name() -> None:
    assert dict(ToolSurface((PING, ECHO)).by_name) == {"ping": PING, "echo": ECHO}


def test_two_tools_may_not_share_a_name() -> None:
    again = ToolDefinition.of("echo", "Another.")
    assert complaint(ConfigError, lambda: ToolSurface((ECHO, PING, again))) == (
        "tool 'echo' is defined twice; rename one of the two"
    )


READ = ToolDefinition.of("files.read", "Read a file.", read_only=True)
SECRET = ToolDefinition.of("secret.door", exposed=False)
SURFACE = ToolSurface((ECHO, READ, SECRET), ("files.delete",))


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


def test_a_function_is_no_definition() -> None:
    assert complaint(ConfigError, lambda: ToolSurface((cast("ToolDefinition", len),))) == (
        "tools: expected definitions, got builtin_function_or_method; "
        "write tools=PythonTools([function, ...]).surface"
    )
