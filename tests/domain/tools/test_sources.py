from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.samples import ECHO, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._tools.sources import (
    SourceShare,
    ToolSource,
    check_surface,
    compose,
    largest,
    masked,
    shares,
)
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

READ = ToolDefinition.of("files.read")
WRITE = ToolDefinition.of("files.write")
FETCH = ToolDefinition.of("fetch")
FILES = ToolSource("files", (READ, WRITE))
WEB = ToolSource("web", (FETCH,))
ALL = ToolSurface((READ, WRITE, FETCH))


def test_sources_become_one_surface_in_their_order() -> None:
    assert compose(WEB, FILES) == ToolSurface((FETCH, READ, WRITE))
    assert compose(FILES, WEB) == ALL
    assert [tool.source for tool in compose(FILES, WEB).definitions] == ["files", "files", "web"]


def test_no_source_is_an_empty_surface() -> None:
    assert compose() == ToolSurface()


def test_a_clash_names_both_sources_and_the_remedy() -> None:
    cloud = ToolSource("cloud", (ECHO, WRITE))
    assert complaint(ConfigError, lambda: compose(FILES, cloud)) == (
        "tool 'files.write' comes from 'files' and from 'cloud'; rename one of the two, "
        "or leave one source out"
    )


def test_a_clash_is_one_even_if_a_mask_would_take_it_away() -> None:
    cloud = ToolSource("cloud", (WRITE,))
    assert "comes from 'files' and from 'cloud'" in (
        complaint(ConfigError, lambda: compose(FILES, cloud, deny=["files.write"]))
    )


def test_two_sources_may_not_share_a_name() -> None:
    assert complaint(ConfigError, lambda: compose(FILES, WEB, ToolSource("files", ()))) == (
        "source 'files' is given twice; rename one of the two"
    )


def test_a_source_has_a_name() -> None:
    assert complaint(ConfigError, lambda: ToolSource(" ", ())).startswith("source: expected a name")


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


HIDDEN = ToolDefinition.of("hidden", "x" * 500, exposed=False)


def surface(*descriptions: str) -> ToolSurface:
    tools = [ToolDefinition.of(f"t{number}", words) for number, words in enumerate(descriptions)]
    return ToolSurface((*tools, HIDDEN))


@pytest.mark.parametrize("limit", [3, 4])
def test_as_many_tools_as_the_limit_may_be_sent(limit: int) -> None:
    check_surface(surface("a", "b", "c"), LoopConfig(max_tool_definitions_count=limit))


def test_one_tool_more_is_refused_with_the_largest() -> None:
    tools = surface("", "ccc", "bb", "a")
    config = LoopConfig(max_tool_definitions_count=3)
    size = tools.definitions[0].size
    assert complaint(ConfigError, lambda: check_surface(tools, config)) == (
        "max_tool_definitions_count: 4 tools would be sent, the limit is 3; "
        f"the largest: t1 ({size + 3} bytes), t2 ({size + 2} bytes), t3 ({size + 1} bytes) and 1 more; "
        "mask some (allow, deny, or exposed=False), or raise the limit"
    )


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_bytes_as_the_limit_may_be_sent(more: int) -> None:
    tools = surface("é")
    assert tools.size == surface("e").size + 1
    check_surface(tools, LoopConfig(max_tool_definitions_bytes=tools.size + more))


def test_one_byte_more_is_refused_with_the_largest() -> None:
    tools = surface("é")
    config = LoopConfig(max_tool_definitions_bytes=tools.size - 1)
    assert complaint(ConfigError, lambda: check_surface(tools, config)) == (
        f"max_tool_definitions_bytes: {tools.size} bytes of tools would be sent, "
        f"the limit is {tools.size - 1}; the largest: t0 ({tools.size - 2} bytes); "
        "mask some (allow, deny, or exposed=False), or raise the limit"
    )


@pytest.mark.parametrize("count", [127, 128])
def test_the_default_is_128_tools(count: int) -> None:
    check_surface(surface(*"x" * count), LoopConfig())
    assert "129 tools would be sent, the limit is 128" in (
        complaint(ConfigError, lambda: check_surface(surface(*"x" * 129), LoopConfig()))
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


def test_too_many_tools_of_several_sources_are_told_by_source_and_what_would_help() -> None:
    told = complaint(ConfigError, lambda: check_surface(MANY, LoopConfig(max_tool_definitions_count=5)))
    one = ToolDefinition.of("mail_0", "a").size
    assert told == (
        "max_tool_definitions_count: 7 tools would be sent, the limit is 5; "
        f"the most from: disk (3 tools, {3 * one} bytes), mail (2 tools, {2 * one} bytes), "
        f"web (1 tool, {one + 998} bytes) and 1 more; "
        f"the largest: web_0 ({one + 998} bytes), mail_0 ({one} bytes), mail_1 ({one} bytes) and 4 more; "
        "leaving out mail would do; mask some (allow, deny, or exposed=False), or raise the limit"
    )


def test_too_large_a_surface_of_several_sources_is_told_by_bytes() -> None:
    few = LoopConfig(max_tool_definitions_bytes=MANY.size - 300)
    told = complaint(ConfigError, lambda: check_surface(MANY, few))
    assert "; the most from: web (1 tool, " in told
    assert "; leaving out disk would do; mask some" in told


def test_where_no_source_alone_is_enough_none_is_named() -> None:
    told = complaint(ConfigError, lambda: check_surface(MANY, LoopConfig(max_tool_definitions_count=1)))
    assert "would do" not in told
    unnamed = ToolSurface((*MANY.definitions, *surface("a", "b", "c", "d").definitions[:4]))
    told = complaint(ConfigError, lambda: check_surface(unnamed, LoopConfig(max_tool_definitions_count=7)))
    assert "the most from: (no source) (4 tools, " in told
    assert "would do" not in told
