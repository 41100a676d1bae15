"""Sources of tools, composed into one surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolreel_core._errors import ConfigError
from toolreel_core._tools.masking import masked
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition


@dataclass(frozen=True, slots=True)
class ToolSource:
    """Tools of one origin, such as a module or an MCP server.

    :raises ConfigError: if it has no name
    """

    name: str
    """Its name in errors and listings."""
    definitions: tuple[ToolDefinition, ...]

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ConfigError("source: expected a name, which errors and listings can use, got an empty text")


def compose(
    *sources: ToolSource, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """One surface of the tools of several sources, in order.

    >>> files = ToolSource("files", (ToolDefinition.of("files.read"), ToolDefinition.of("files.delete")))
    >>> web = ToolSource("web", (ToolDefinition.of("fetch"),))
    >>> compose(files, web, deny=["*.delete"]).names
    ('files_read', 'fetch')

    :raises ConfigError: if sources or tools share a name, or a pattern matches no tool
    """
    for source in sources:
        if not isinstance(source, ToolSource):  # a caller without a type checker
            raise ConfigError(
                f"compose: expected ToolSource values, one argument each, got {type(source).__name__}; "
                'write compose(ToolSource("name", definitions), …)'
            )
    names = [source.name for source in sources]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"source {twice[0]!r} is given twice; rename one of the two")
    tools = (replace(tool, source=source.name) for source in sources for tool in source.definitions)
    return masked(ToolSurface(tuple(tools)), allow=allow, deny=deny)
