from __future__ import annotations

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    SourceShare,
    ToolDefinition,
    ToolSource,
    ToolSurface,
    check_surface,
    compose,
    largest,
    shares,
)

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
