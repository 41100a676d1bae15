"""Tool definitions from the tools that an MCP server lists, and the pins of those that were accepted.

Descriptions, schemas and annotations are untrusted. A part of a schema that cannot be used is left out of the
definition, which says so.

Pins are fingerprints in a file next to the configuration: those of ``mcp.json`` are in ``mcp.pins.json``.
Without this file all tools are offered; with it, new and changed tools are left out until you accept them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from toolreel._internal import McpConfigError, read_text_file
from toolreel.tools.mcp._config_file import ServerSettings
from toolreel_core._config_checks import matches_wildcard, unknown_name_message
from toolreel_core._jsontext import (
    Json,
    Tree,
    as_list,
    as_tree,
    canonical,
    read_json,
    text_at,
    tree_at,
    without_non_finite_numbers,
)
from toolreel_core._schema import modernize_schema, usable_schema
from toolreel_core._tools import (
    ToolDefinition,
    ToolSurface,
    name_with_digest,
    outward_name,
    prefixed_name,
    resolve_root_reference,
)

MCP_PREFIX = "mcp"


@dataclass(frozen=True, slots=True)
class McpTool:
    name: str
    definition: ToolDefinition


@dataclass(frozen=True, slots=True)
class ServerTools:
    tools: Mapping[str, McpTool]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why, by the inner name that each would have."""
    mistakes: tuple[str, ...] = ()
    """Names in the settings that the server does not list, so that a flag or mask would have no effect."""


def server_tools(server: str, listed: Sequence[Mapping[str, Any]], settings: ServerSettings) -> ServerTools:
    allowed = [
        (name, tool)
        for tool in listed
        if _matches_any(settings.allow, name := text_at(tool, "name"))
        and not _matches_any(settings.deny, name)
    ]
    inner = {own: prefixed_name(MCP_PREFIX, server, own) for own, _ in allowed}
    alike = Counter(map(outward_name, inner.values()))
    tools, left_out = dict[str, McpTool](), dict[str, str]()
    for own, tool in allowed:
        name = inner[own]
        # Of those that look alike to the model, one whose own name needed no change keeps it, in any order.
        if alike[outward_name(name)] > 1 and outward_name(own) != own:
            name = name_with_digest(name, own)
        offered = McpTool(own, _tool_definition(name, tool, settings))
        if not own:
            left_out[name] = "its server lists it without a name"
        elif tools.setdefault(name, offered) != offered:
            left_out[name] = "its server lists another tool of the same name"
    names = [text_at(tool, "name") for tool in listed]
    mistakes = (
        f"{key}: {unknown_name_message('tool', pattern, names)}"
        for key in ("allow", "deny", "read_only", "needs_approval")
        for pattern in getattr(settings, key)
        if "*" not in pattern and pattern not in names
    )
    return ServerTools(tools, left_out, tuple(mistakes))


def _tool_definition(name: str, tool: Mapping[str, Any], settings: ServerSettings) -> ToolDefinition:
    hints = tree_at(tool, "annotations") if settings.trust_hints else {}
    reads = hints.get("readOnlyHint") is True
    # The protocol's default is true, by which each tool without hints would need approval.
    destroys = not reads and hints.get("destructiveHint") is True
    parameters, left_out = _usable_parameters(without_non_finite_numbers(tool.get("inputSchema")))
    own = text_at(tool, "name")
    definition = ToolDefinition.of(
        name,
        text_at(tool, "description") or text_at(tool, "title"),
        parameters,
        read_only=reads or _matches_any(settings.read_only, own),
        needs_approval=destroys or _matches_any(settings.needs_approval, own),
        deadline_ms=settings.deadline_ms,
    )
    return replace(definition, left_out=left_out)


def _usable_parameters(listed: Json) -> tuple[Tree, tuple[str, ...]]:
    schema = as_tree(listed)
    kinds = schema.get("type", "object")
    if not isinstance(listed, Mapping | None) or "object" not in as_list(kinds):
        return {"type": "object"}, (f"its inputSchema, not of type 'object': {canonical(listed):.80}",)
    return usable_schema(cast("Tree", modernize_schema(resolve_root_reference({**schema, "type": kinds}))))


def _matches_any(patterns: Iterable[str], name: str) -> bool:
    return any(matches_wildcard(pattern, name) for pattern in patterns)


def pins_of(surface: ToolSurface) -> dict[str, str]:
    """The fingerprints of all tools of a surface, for example of a stored plan."""
    return {tool.name: tool.fingerprint for tool in surface.definitions}


def pins_beside(config: Path) -> Path:
    return config.with_suffix(".pins.json")


def read_pins(path: Path | str) -> dict[str, str] | None:
    """The pins in a file; ``None`` if there is no file, so that all tools are offered.

    :raises McpConfigError: if it cannot be read
    """
    if not Path(path).exists():
        return None
    pins = read_json(read_text_file(Path(path), McpConfigError, "is gone")).value_or(None)
    if not isinstance(pins, Mapping) or not all(isinstance(pin, str) for pin in pins.values()):
        raise McpConfigError(f"{path}: expected an object of fingerprints by name; accept the tools again")
    return {name: str(pin) for name, pin in pins.items()}


def write_pins(path: Path | str, pins: Mapping[str, str]) -> None:
    """Write pins, one per line, so that diffs are readable.

    :raises McpConfigError: if they cannot be written
    """
    try:
        Path(path).write_text(json.dumps(dict(sorted(pins.items())), indent=2) + "\n", "utf-8")
    except OSError as error:
        raise McpConfigError(f"{path}: cannot be written: {error.strerror}") from None


def unaccepted_tools(tools: Iterable[ToolDefinition], pins: Mapping[str, str] | None) -> dict[str, str]:
    remedy = "look at it, and accept it if it is right: toolreel tools --mcp FILE --accept"
    whys = {False: "it was not accepted yet", True: "its definition is not the one that was accepted"}
    return {
        tool.name: f"{whys[tool.name in pins]}; {remedy}"
        for tool in tools
        if pins is not None and pins.get(tool.name) != tool.fingerprint
    }
