"""The surface: the tools of a run, frozen as the model sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText, canonical, chain, parse
from toolreel_core._settings import LoopConfig
from toolreel_core._tools.tool_definition import ToolDefinition, matches, outward_name


@dataclass(frozen=True, slots=True)
class ToolSurface:
    """The tools of one run, frozen before it begins.

    :raises ConfigError: if two tools share a name, or a name for the model
    """

    definitions: tuple[ToolDefinition, ...] = ()
    """The callable tools, in the order in which the model sees them."""
    masked: tuple[str, ...] = ()
    """Inner names of existing tools that are neither sent nor run."""
    text: JsonText = field(init=False, repr=False, compare=False)
    """The canonical text of the ``tools`` array."""
    by_name: Mapping[str, ToolDefinition] = field(init=False, repr=False, compare=False)
    """The callable tools, by inner and by outward name."""
    known: frozenset[str] = field(init=False, repr=False, compare=False)
    """All inner and outward names of callable and masked tools."""
    schemas: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """The parsed parameters of the callable tools, by inner and by outward name."""

    def __post_init__(self) -> None:
        _check_definitions(self.definitions)
        _check_distinct(self.definitions, self.masked)
        tree = [definition.tree() for definition in self.definitions if definition.exposed]
        callable_ = {name: tool for tool in self.definitions for name in (tool.name, tool.outward)}
        masked = (form for name in self.masked for form in (name, outward_name(name)))
        parsed = {name: parse(tool.parameters) for name, tool in callable_.items()}
        object.__setattr__(self, "text", canonical(tree))
        object.__setattr__(self, "schemas", parsed)
        object.__setattr__(self, "by_name", callable_)
        object.__setattr__(self, "known", frozenset([*callable_, *masked]))

    @property
    def names(self) -> tuple[str, ...]:
        """The outward names of the tools that are sent, in order."""
        return tuple(definition.outward for definition in self.definitions if definition.exposed)

    @property
    def size(self) -> int:
        """UTF-8 bytes of the ``tools`` array."""
        return len(self.text.encode())

    @property
    def told_whole(self) -> bool:
        """Whether the ``tools`` array, as sent, is the whole definition of the surface."""
        return not self.masked and all(definition.told_whole for definition in self.definitions)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the definitions, without their sources."""
        tools = (definition.fingerprint for definition in self.definitions)
        return chain(chain("tool_surface", self.text, *tools), "masked", *self.masked)

    def inner(self, name: str) -> str:
        """The inner name of a tool by either name; an unknown name is returned unchanged."""
        tool = self.by_name.get(name)
        return name if tool is None else tool.name


def _check_definitions(definitions: Iterable[object]) -> None:
    for tool in definitions:
        if not isinstance(tool, ToolDefinition):
            raise ConfigError(
                f"tools: expected definitions, got {type(tool).__name__}; "
                "write tools=PythonTools([function, ...]).surface"
            )


def _check_distinct(definitions: Sequence[ToolDefinition], masked: Sequence[str]) -> None:
    """Check that outward names are unique; then no inner name is another's outward name either."""
    seen: dict[str, ToolDefinition] = {}
    for tool in definitions:
        other = seen.setdefault(tool.outward, tool)
        if other is not tool:
            raise ConfigError(_clash_text(other, tool))
    for name in masked:
        if outward_name(name) in seen:
            raise ConfigError(f"tool {name!r} is masked and may be called at once; leave one of the two out")


def _clash_text(one: ToolDefinition, other: ToolDefinition) -> str:
    if one.name != other.name:
        both = " and ".join(f"{tool.name!r}{_origin_text(tool)}" for tool in (one, other))
        return f"tools {both} are both {one.outward!r} to the model; rename one of the two"
    if one.source == other.source:
        return f"tool {one.name!r} is defined twice{_origin_text(one)}; rename one of the two"
    return (
        f"tool {one.name!r} comes from {one.source!r} and from {other.source!r}; "
        "rename one of the two, or leave one source out"
    )


def _origin_text(tool: ToolDefinition) -> str:
    return f" (source {tool.source!r})" if tool.source else ""


# Sources of tools, composed into one surface, without the tools that patterns exclude.


def masked(
    surface: ToolSurface, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """The surface without the tools that the patterns exclude; masked tools are neither sent nor run.

    A pattern is an inner or outward name in which ``*`` stands for any text.

    :param allow: the tools to keep; ``None`` for all, an empty list for none
    :param deny: the tools to exclude, even if ``allow`` has them
    :raises ConfigError: if a pattern matches no tool
    """
    allowed = None if allow is None else _check_patterns("allow", allow, surface)
    denied = _check_patterns("deny", deny, surface)
    if allowed is None and not denied:
        return surface
    kept = tuple(tool for tool in surface.definitions if _is_allowed(tool.name, allowed, denied))
    gone = tuple(tool.name for tool in surface.definitions if not _is_allowed(tool.name, allowed, denied))
    return ToolSurface(kept, (*surface.masked, *gone))


def _is_allowed(name: str, allowed: tuple[str, ...] | None, denied: tuple[str, ...]) -> bool:
    if any(matches(pattern, name) for pattern in denied):
        return False
    return allowed is None or any(matches(pattern, name) for pattern in allowed)


def _check_patterns(mask: str, given: Iterable[str], surface: ToolSurface) -> tuple[str, ...]:
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


# Limits of the number and size of the tools that are sent, and which sources take the most.


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
    for tool in _sent_definitions(surface):
        sizes.setdefault(tool.source, []).append(tool.size)
    each = (SourceShare(source, len(found), sum(found)) for source, found in sizes.items())
    return tuple(sorted(each, key=lambda share: -share.size))


def largest(surface: ToolSurface) -> tuple[ToolDefinition, ...]:
    """The tools that are sent, the largest first."""
    sizes = {tool.name: tool.size for tool in _sent_definitions(surface)}
    return tuple(sorted(_sent_definitions(surface), key=lambda tool: -sizes[tool.name]))


def check_surface(surface: ToolSurface, config: LoopConfig) -> None:
    """Check the number and the size of the tools that are sent.

    :raises ConfigError: if they exceed a limit, with the largest sources and tools
    """
    if config.tool_use_mode == "disabled":
        return
    for setting, amount, what in (
        ("max_tool_definitions_count", len(surface.names), "tools"),
        ("max_tool_definitions_bytes", surface.size, "bytes of tools"),
    ):
        limit = getattr(config, setting)
        if amount > limit:
            sources = [str(share) for share in shares(surface)]
            tools = [f"{tool.name} ({tool.size} bytes)" for tool in largest(surface)]
            most = f"the most from: {_first_names(sources)}; " if len(sources) > 1 else ""
            raise ConfigError(
                f"{setting}: {amount} {what} would be sent, the limit is {limit}; "
                f"{most}the largest: {_first_names(tools)}; {_REMEDY}"
            )


def _first_names(items: Sequence[str]) -> str:
    more = f" and {len(items) - _MAX_NAMED} more" if len(items) > _MAX_NAMED else ""
    return ", ".join(items[:_MAX_NAMED]) + more


def _sent_definitions(surface: ToolSurface) -> list[ToolDefinition]:
    return [tool for tool in surface.definitions if tool.exposed]
