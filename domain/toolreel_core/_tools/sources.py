"""The catalogue of a run: tools from several sources in one surface, less what is masked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolreel_core._errors import ConfigError
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core._tools.names import matches, outward_name
from toolreel_core._tools.surface import ToolDefinition, ToolSurface


@dataclass(frozen=True, slots=True)
class ToolSource:
    """Tools that belong together, such as those of one module or of one MCP server.

    :raises ConfigError: if it has no name
    """

    name: str
    """What errors and listings call it."""
    definitions: tuple[ToolDefinition, ...]

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ConfigError("source: expected a name, which errors and listings can use, got an empty text")


def compose(
    *sources: ToolSource, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """One surface out of several sources: their tools in the order given, each with its source's name.

    >>> files = ToolSource("files", (ToolDefinition.of("files.read"), ToolDefinition.of("files.delete")))
    >>> web = ToolSource("web", (ToolDefinition.of("fetch"),))
    >>> compose(files, web, deny=["*.delete"]).names
    ('files_read', 'fetch')

    :raises ConfigError: if sources or tools share a name, or a mask names what there is not
    """
    names = [source.name for source in sources]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"source {twice[0]!r} is given twice; rename one of the two")
    tools = (replace(tool, source=source.name) for source in sources for tool in source.definitions)
    return masked(ToolSurface(tuple(tools)), allow=allow, deny=deny)


def masked(
    surface: ToolSurface, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """The surface with fewer tools: what is masked is neither sent nor run, and a call of it is told so.

    Patterns are names of either form, in which ``*`` stands for any text. Masking again only takes away.

    :param allow: what may be called; everything, if nothing is said, and nothing, if the list is empty
    :param deny: what may not, even where ``allow`` names it
    :raises ConfigError: if a pattern means no tool
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
    """The patterns; one that means nothing is a slip of the pen, and a mask that slips lets tools through."""
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
