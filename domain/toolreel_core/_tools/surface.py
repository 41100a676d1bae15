"""The surface: the tools of a run, frozen as the model sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText, canonical, chain, parse
from toolreel_core._tools.names import outward_name
from toolreel_core._tools.tool_definition import ToolDefinition


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
            raise ConfigError(_clash(other, tool))
    for name in masked:
        if outward_name(name) in seen:
            raise ConfigError(f"tool {name!r} is masked and may be called at once; leave one of the two out")


def _clash(one: ToolDefinition, other: ToolDefinition) -> str:
    if one.name != other.name:
        both = " and ".join(f"{tool.name!r}{_from(tool)}" for tool in (one, other))
        return f"tools {both} are both {one.outward!r} to the model; rename one of the two"
    if one.source == other.source:
        return f"tool {one.name!r} is defined twice{_from(one)}; rename one of the two"
    return (
        f"tool {one.name!r} comes from {one.source!r} and from {other.source!r}; "
        "rename one of the two, or leave one source out"
    )


def _from(tool: ToolDefinition) -> str:
    return f" (source {tool.source!r})" if tool.source else ""
