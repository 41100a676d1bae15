"""Tool definitions from the tools that an MCP server lists.

Descriptions, schemas and annotations are untrusted. An invalid tool is skipped, with the reason; the others
remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from toolreel._internal.errors import MissingExtra
from toolreel.tools.mcp._config_file import ServerSettings
from toolreel.tools.mcp._session import INVALID_SCHEMA
from toolreel_core._errors import ConfigError
from toolreel_core._internal.wildcards import fits
from toolreel_core._jsontext.canonical import Tree
from toolreel_core._schema.draft_upgrade import modern
from toolreel_core._tools.names import prefixed_name
from toolreel_core._tools.parameter_schemas import opened
from toolreel_core._tools.tool_definition import ToolDefinition

try:
    from mcp.types import Tool
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


MCP_PREFIX = "mcp"
"""Prefix of the inner names of all MCP tools."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of a server, and its definition for a run."""

    name: str
    """Its name on the server."""
    definition: ToolDefinition


@dataclass(frozen=True, slots=True)
class SkippedTool:
    """A tool that is not offered to the model, and why."""

    name: str
    """The inner name that it would have."""
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The usable tools of a server, and those left out."""

    tools: Mapping[str, McpTool]
    """By inner name, in the server's order."""
    left_out: tuple[SkippedTool, ...] = ()


def server_tools(server: str, listed: Iterable[Tool], settings: ServerSettings) -> ServerTools:
    """The listed tools that the settings allow and that are valid."""
    tools: dict[str, McpTool] = {}
    left_out: list[SkippedTool] = []
    for tool in listed:
        if not _matches_any(settings.allow, tool.name) or _matches_any(settings.deny, tool.name):
            continue
        name = prefixed_name(MCP_PREFIX, server, tool.name)
        try:
            offered = McpTool(tool.name, _definition(name, tool, settings))
        except ConfigError as error:
            left_out.append(SkippedTool(name, str(error).removeprefix(f"tool {name!r}: ")))
            continue
        if name in tools:
            left_out.append(
                SkippedTool(name, f"its server has another tool of this name, {tools[name].name!r}")
            )
            continue
        tools[name] = offered
    return ServerTools(tools, tuple(left_out))


def _definition(name: str, tool: Tool, settings: ServerSettings) -> ToolDefinition:
    if invalid := (tool.meta or {}).get(INVALID_SCHEMA):
        raise ConfigError(str(invalid))
    hints = tool.annotations if settings.trust_hints else None
    reads = hints is not None and hints.read_only_hint is True
    destroys = hints is not None and not reads and hints.destructive_hint is True
    tree = cast("Tree", modern(opened(tool.input_schema)))
    return ToolDefinition.of(
        name,
        tool.description or tool.title or "",
        tree,
        read_only=reads or _matches_any(settings.read_only, tool.name),
        needs_approval=destroys or _matches_any(settings.needs_approval, tool.name),
        deadline_ms=settings.deadline_ms,
    )


def _matches_any(patterns: Iterable[str], name: str) -> bool:
    return any(fits(pattern, name) for pattern in patterns)
