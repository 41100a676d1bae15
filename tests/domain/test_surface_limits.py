from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel.config import LoopConfig
from toolreel.errors import ConfigError
from toolreel.surface import ToolDefinition, ToolSurface
from toolreel.surface_limits import check_surface

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
        f"the largest: t1 ({size + 3} bytes), t2 ({size + 2} bytes), t3 ({size + 1} bytes); "
        "mask some, send fewer (exposed=False), or raise the limit"
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
        "mask some, send fewer (exposed=False), or raise the limit"
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
