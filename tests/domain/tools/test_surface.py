from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.samples import ECHO, PING, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    SourceShare,
    ToolDefinition,
    ToolSource,
    ToolSurface,
    check_surface,
    compose,
    largest,
    masked,
    shares,
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


READING = ToolDefinition.of("files.read")
WRITE = ToolDefinition.of("files.write")
FETCH = ToolDefinition.of("fetch")
FILES = ToolSource("files", (READING, WRITE))
WEB = ToolSource("web", (FETCH,))
ALL = ToolSurface((READING, WRITE, FETCH))


@pytest.mark.parametrize(
    ("allow", "deny", "left"),
    [
        (None, [], ("files_read", "files_write", "fetch")),
        ([], [], ()),
        (["files.read"], [], ("files_read",)),
        (["fetch", "files_read"], [], ("files_read", "fetch")),
        (["files.*"], [], ("files_read", "files_write")),
        (None, ["files_*"], ("fetch",)),
        (None, ["*"], ()),
        (["*"], ["*.write"], ("files_read", "fetch")),
        (["fetch"], ["fetch"], ()),
    ],
)
def test_what_is_allowed_and_not_denied_is_left(
    allow: list[str] | None, deny: list[str], left: tuple[str, ...]
) -> None:
    surface = compose(FILES, WEB, allow=allow, deny=deny)
    assert surface == masked(ALL, allow=allow, deny=deny)
    assert surface.names == left
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


def test_patterns_may_come_from_anything_that_gives_them_once() -> None:
    assert masked(ALL, allow=iter(["fetch", "files.read"])).names == ("files_read", "fetch")


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (
            lambda: masked(ALL, allow=["file_read"]),
            "allow: there is no tool 'file_read'; did you mean 'files_read'?",
        ),
        (
            lambda: masked(ALL, deny=["fetch", "filse.*"]),
            "deny: there is no tool 'filse.*'; did you mean 'files.read'?",
        ),
        (
            lambda: masked(ALL, deny=["mcp_*"]),
            "deny: there is no tool 'mcp_*'; there are: files.read, files_read, files.write, files_write, "
            "fetch",
        ),
        (lambda: compose(allow=["fetch"]), "allow: there is no tool 'fetch'; there are no tools at all"),
    ],
)
def test_a_mask_that_means_no_tool_is_an_error_with_a_suggestion(act: Callable[[], Any], why: str) -> None:
    assert complaint(ConfigError, act) == why


def test_one_text_is_not_a_list_of_names() -> None:
    assert complaint(ConfigError, lambda: masked(ALL, deny="fetch")) == (
        "deny: expected a list of names, got 'fetch'"
    )


def test_sources_become_one_surface_in_their_order() -> None:
    assert compose(WEB, FILES) == ToolSurface((FETCH, READING, WRITE))
    assert compose(FILES, WEB) == ALL
    assert [tool.source for tool in compose(FILES, WEB).definitions] == ["files", "files", "web"]


def test_a_clash_is_one_even_if_a_mask_would_take_it_away() -> None:
    cloud = ToolSource("cloud", (WRITE,))
    assert "comes from 'files' and from 'cloud'" in (
        complaint(ConfigError, lambda: compose(FILES, cloud, deny=["files.write"]))
    )


def test_two_sources_may_not_share_a_name() -> None:
    assert complaint(ConfigError, lambda: compose(FILES, WEB, ToolSource("files", ()))) == (
        "source 'files' is given twice; rename one of the two"
    )


def test_a_list_of_sources_or_something_else_is_told_what_to_write() -> None:
    wrong: Any = [FILES, WEB]
    assert complaint(ConfigError, lambda: compose(wrong)) == (
        "compose: expected ToolSource values, one argument each, got list; "
        'write compose(ToolSource("name", definitions), …)'
    )


def test_a_source_has_a_name() -> None:
    assert complaint(ConfigError, lambda: ToolSource(" ", ())).startswith("source: expected a name")


HIDDEN = ToolDefinition.of("hidden", "x" * 500, exposed=False)


def surface(*descriptions: str) -> ToolSurface:
    tools = [ToolDefinition.of(f"t{number}", words) for number, words in enumerate(descriptions)]
    return ToolSurface((*tools, HIDDEN))


def test_one_tool_more_is_refused_with_the_largest() -> None:
    tools = surface("", "ccc", "bb", "a")
    config = LoopConfig(max_tool_definitions_count=3)
    size = tools.definitions[0].size
    assert complaint(ConfigError, lambda: check_surface(tools, config)) == (
        "max_tool_definitions_count: 4 tools would be sent, the limit is 3; "
        f"the largest: t1 ({size + 3} bytes), t2 ({size + 2} bytes), t3 ({size + 1} bytes) and 1 more; "
        "mask some (allow, deny, or exposed=False), or raise the limit"
    )


def test_one_byte_more_is_refused_with_the_largest() -> None:
    tools = surface("é")
    config = LoopConfig(max_tool_definitions_bytes=tools.size - 1)
    assert complaint(ConfigError, lambda: check_surface(tools, config)) == (
        f"max_tool_definitions_bytes: {tools.size} bytes of tools would be sent, "
        f"the limit is {tools.size - 1}; the largest: t0 ({tools.size - 2} bytes); "
        "mask some (allow, deny, or exposed=False), or raise the limit"
    )


def test_a_run_that_sends_no_tools_has_no_limit() -> None:
    config = LoopConfig(tool_use_mode="disabled", max_tool_definitions_count=1, max_tool_definitions_bytes=1)
    check_surface(surface("a", "b"), config)


def of_source(source: str, *descriptions: str) -> ToolSource:
    tools = (ToolDefinition.of(f"{source}_{number}", words) for number, words in enumerate(descriptions))
    return ToolSource(source, (*tools, ToolDefinition.of(f"{source}_hidden", exposed=False)))


MANY = compose(
    of_source("mail", "a", "b"),
    of_source("web", "x" * 1_000),
    of_source("disk", "a", "b", "c"),
    of_source("logs", "a"),
    ToolSource("quiet", (HIDDEN,)),
)


def test_each_source_has_its_share_of_what_is_sent() -> None:
    one = ToolDefinition.of("mail_0", "a").size
    assert shares(MANY) == (
        SourceShare("web", 1, one + 998),
        SourceShare("disk", 3, 3 * one),
        SourceShare("mail", 2, 2 * one),
        SourceShare("logs", 1, one),
    )
    assert [tool.name for tool in largest(MANY)][:3] == ["web_0", "mail_0", "mail_1"]
    assert [str(share) for share in shares(surface("a", "b"))] == [
        f"(no source) (2 tools, {2 * one - 8} bytes)"
    ]


def test_a_surface_of_several_sources_is_told_by_source() -> None:
    one = ToolDefinition.of("mail_0", "a").size
    most = (
        f"the most from: web (1 tool, {one + 998} bytes), disk (3 tools, {3 * one} bytes), "
        f"mail (2 tools, {2 * one} bytes) and 1 more; "
        f"the largest: web_0 ({one + 998} bytes), mail_0 ({one} bytes), mail_1 ({one} bytes) and 4 more; "
    )
    for few, what in (
        (LoopConfig(max_tool_definitions_count=5), "count: 7 tools would be sent, the limit is 5; "),
        (LoopConfig(max_tool_definitions_bytes=9), f"bytes: {MANY.size} bytes of tools would be sent, "),
    ):
        told = complaint(ConfigError, lambda config=few: check_surface(MANY, config))  # type: ignore[misc]
        assert told.startswith(f"max_tool_definitions_{what}")
        assert most in told
