"""Limits of the number and size of the tools that are sent, and which sources take the most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._settings import LoopConfig
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition

_MAX_NAMED: Final = 3
"""Maximum sources, and tools, that an error names."""
_REMEDY: Final = "mask some (allow, deny, or exposed=False), or raise the limit"


@dataclass(frozen=True, slots=True)
class SourceShare:
    """The share of one source in the tools that are sent."""

    source: str
    """Its name; empty for tools without a source."""
    count: int
    """Tools that are sent."""
    size: int
    """UTF-8 bytes of their entries."""

    def __str__(self) -> str:
        tools = "1 tool" if self.count == 1 else f"{self.count} tools"
        return f"{self.source or '(no source)'} ({tools}, {self.size} bytes)"


def shares(surface: ToolSurface) -> tuple[SourceShare, ...]:
    """The share of each source, the largest first; sources of which nothing is sent are omitted.

    >>> web = ToolDefinition(name="fetch", source="web")
    >>> [str(share) for share in shares(ToolSurface((web,)))]
    ['web (1 tool, 140 bytes)']
    """
    sizes: dict[str, list[int]] = {}
    for tool in _sent(surface):
        sizes.setdefault(tool.source, []).append(tool.size)
    each = (SourceShare(source, len(found), sum(found)) for source, found in sizes.items())
    return tuple(sorted(each, key=lambda share: -share.size))


def largest(surface: ToolSurface) -> tuple[ToolDefinition, ...]:
    """The tools that are sent, the largest first."""
    sizes = {tool.name: tool.size for tool in _sent(surface)}
    return tuple(sorted(_sent(surface), key=lambda tool: -sizes[tool.name]))


def check_surface(surface: ToolSurface, config: LoopConfig) -> None:
    """Check the number and the size of the tools that are sent.

    :raises ConfigError: if they exceed a limit, with the largest sources and tools
    """
    if config.tool_use_mode == "disabled":
        return
    count, max_count = len(surface.names), config.max_tool_definitions_count
    if count > max_count:
        raise ConfigError(
            f"max_tool_definitions_count: {count} tools would be sent, the limit is {max_count}; "
            f"{_explained(surface, count - max_count, lambda share: share.count)}; {_REMEDY}"
        )
    size, limit = surface.size, config.max_tool_definitions_bytes
    if size > limit:
        raise ConfigError(
            f"max_tool_definitions_bytes: {size} bytes of tools would be sent, the limit is {limit}; "
            f"{_explained(surface, size - limit, lambda share: share.size)}; {_REMEDY}"
        )


def _explained(surface: ToolSurface, excess: int, amount: Callable[[SourceShare], int]) -> str:
    """The largest sources and tools, and the smallest source whose removal is enough, if there is one."""
    sources = sorted(shares(surface), key=amount, reverse=True)
    tools = [f"{tool.name} ({tool.size} bytes)" for tool in largest(surface)]
    tools_text = f"the largest: {_first(tools)}"
    if len(sources) == 1:
        return tools_text
    sufficient = [share for share in sources if share.source and amount(share) >= excess]
    hint = f"; leaving out {sufficient[-1].source} would do" if sufficient else ""
    return f"the most from: {_first([str(share) for share in sources])}; {tools_text}{hint}"


def _first(items: Sequence[str]) -> str:
    more = f" and {len(items) - _MAX_NAMED} more" if len(items) > _MAX_NAMED else ""
    return ", ".join(items[:_MAX_NAMED]) + more


def _sent(surface: ToolSurface) -> list[ToolDefinition]:
    return [tool for tool in surface.definitions if tool.exposed]
