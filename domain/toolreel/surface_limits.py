"""How many tools, and how much of them, may be sent to a model: large surfaces crowd out the rest."""

from __future__ import annotations

from typing import Final

from toolreel.config import LoopConfig
from toolreel.errors import ConfigError
from toolreel.surface import ToolSurface

__all__ = ["check_surface"]

_NAMED: Final = 3
_REMEDY: Final = "mask some, send fewer (exposed=False), or raise the limit"


def check_surface(surface: ToolSurface, config: LoopConfig) -> None:
    """Make sure that the tools that are sent keep to the limits; a run without tools sends none.

    :raises ConfigError: if there are too many or they are too large; says how much, and names the largest
    """
    if config.tool_use_mode == "disabled":
        return
    count, most = len(surface.names), config.max_tool_definitions_count
    if count > most:
        raise ConfigError(
            f"max_tool_definitions_count: {count} tools would be sent, the limit is {most}; "
            f"{_largest(surface)}; {_REMEDY}"
        )
    size, limit = surface.size, config.max_tool_definitions_bytes
    if size > limit:
        raise ConfigError(
            f"max_tool_definitions_bytes: {size} bytes of tools would be sent, the limit is {limit}; "
            f"{_largest(surface)}; {_REMEDY}"
        )


def _largest(surface: ToolSurface) -> str:
    sent = [(tool.size, tool.name) for tool in surface.definitions if tool.exposed]
    sent.sort(key=lambda item: -item[0])
    return "the largest: " + ", ".join(f"{name} ({size} bytes)" for size, name in sent[:_NAMED])
