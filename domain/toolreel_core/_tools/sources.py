"""Sources of tools, composed into one surface, without the tools that patterns exclude."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._tools.names import matches, outward_name
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition


def masked(
    surface: ToolSurface, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """The surface without the tools that the patterns exclude; masked tools are neither sent nor run.

    A pattern is an inner or outward name in which ``*`` stands for any text.

    :param allow: the tools to keep; ``None`` for all, an empty list for none
    :param deny: the tools to exclude, even if ``allow`` has them
    :raises ConfigError: if a pattern matches no tool
    """
    allowed = None if allow is None else _patterns("allow", allow, surface)
    denied = _patterns("deny", deny, surface)
    if allowed is None and not denied:
        return surface
    kept = tuple(tool for tool in surface.definitions if _may(tool.name, allowed, denied))
    gone = tuple(tool.name for tool in surface.definitions if not _may(tool.name, allowed, denied))
    return ToolSurface(kept, (*surface.masked, *gone))


def _may(name: str, allowed: tuple[str, ...] | None, denied: tuple[str, ...]) -> bool:
    if any(matches(pattern, name) for pattern in denied):
        return False
    return allowed is None or any(matches(pattern, name) for pattern in allowed)


def _patterns(mask: str, given: Iterable[str], surface: ToolSurface) -> tuple[str, ...]:
    """The checked patterns: one that matches nothing is a typo, which could let tools through."""
    if isinstance(given, str):
        raise ConfigError(f"{mask}: expected a list of names, got {given!r}")
    patterns, names = tuple(given), (*(tool.name for tool in surface.definitions), *surface.masked)
    for pattern in patterns:
        if any(matches(pattern, name) for name in names):
            continue
        if not names:
            raise ConfigError(f"{mask}: there is no tool {pattern!r}; there are no tools at all")
        forms = tuple(dict.fromkeys(form for name in names for form in (name, outward_name(name))))
        raise ConfigError(f"{mask}: {unknown_name('tool', pattern, forms)}")
    return patterns


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
