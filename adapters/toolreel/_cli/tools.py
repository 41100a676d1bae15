"""``toolreel tools``: show the tools of a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout

import click

from toolreel._cli.console import labelled, out, show_columns
from toolreel._cli.errors import EPILOG, json_option, reporting, say
from toolreel._cli.tool_options import SourceChoice, allow_option, deny_option, source_options
from toolreel_core._jsontext import Json
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface, check_surface, largest, shares


@click.command("tools", epilog=EPILOG)
@source_options
@click.option(
    "--accept",
    is_flag=True,
    help="Accept the current definitions of the MCP tools. Their fingerprints are kept next to FILE in "
    ".pins.json; from then on, new and changed tools are left out until you accept them.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Read skills strictly: what does not follow the specification is an error, instead of a warning.",
)
@click.option(
    "--by-size", is_flag=True, help="Show only tools that are sent to the model, the largest first."
)
@allow_option
@deny_option
@json_option
@reporting
def tools_command(
    sources: SourceChoice,
    accept: bool,
    check: bool,
    by_size: bool,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    as_machine: bool,
) -> int:
    """Show the tools of a run: their names, sources, flags, and sizes in the request.

    Use it to check what the model will see before you run a loop, to find the largest definitions, and
    to accept the tools of MCP servers. Exits with 2 if the tools exceed the limits of a run.

    \b
    toolreel tools --tools toolreel.demo:TOOLS --deny "*_patch"
    toolreel tools --mcp mcp.json --accept
    """
    if not sources.any_named:
        known = "--tools MODULE:ATTR, --skills FOLDER, or --mcp FILE"
        raise click.UsageError(f"name the source of the tools: {known}")
    with redirect_stdout(sys.stderr), sources.open(accept=accept, strict=check) as available:
        surface = available.surface(allow, deny)
    if as_machine:
        say(_tree(surface))
    else:
        _show(surface, by_size=by_size)
    check_surface(surface, LoopConfig())
    return 0


def _show(surface: ToolSurface, *, by_size: bool) -> None:
    rows = [
        (
            tool.name if tool.name == tool.outward else f"{tool.name} ({tool.outward})",
            str(tool.size),
            ", ".join(_flags(tool)) or "-",
            "-" if tool.deadline_ms is None else f"{tool.deadline_ms} ms",
            tool.source,
        )
        for tool in (largest(surface) if by_size else surface.definitions)
    ]
    if surface.definitions:
        show_columns(out, ("tool", "bytes", "flags", "deadline", "source"), rows)
    if surface.masked:
        labelled(out, "masked", ", ".join(surface.masked))
    limits = LoopConfig()
    labelled(out, "sent", f"{len(surface.names)} of at most {limits.max_tool_definitions_count} tools")
    labelled(out, "", f"{surface.size} of at most {limits.max_tool_definitions_bytes} bytes")
    sources = shares(surface)
    for number, share in enumerate(sources if len(sources) > 1 else ()):
        labelled(out, "" if number else "most from", str(share))
    labelled(out, "fingerprint", surface.fingerprint)


def _flags(tool: ToolDefinition) -> list[str]:
    flags = {
        "read-only": tool.read_only,
        "polling": tool.polling,
        "approval": tool.needs_approval,
        "hidden": not tool.exposed,
        "idempotent": tool.idempotent,
        f"args at most {tool.max_args_bytes} bytes": tool.max_args_bytes is not None,
        f"output at most {tool.max_output_bytes} bytes": tool.max_output_bytes is not None,
    }
    return [name for name, is_set in flags.items() if is_set]


def _tree(surface: ToolSurface) -> Mapping[str, Json]:
    limits = LoopConfig()
    tools: list[Json] = [
        {
            "name": tool.name,
            "outward": tool.outward,
            "source": tool.source,
            "bytes": tool.size,
            "flags": _flags(tool),
            "deadline_ms": tool.deadline_ms,
            "fingerprint": tool.fingerprint,
            "left_out": list(tool.left_out),
        }
        for tool in surface.definitions
    ]
    return {
        "tools": tools,
        "masked": list(surface.masked),
        "sent": {"count": len(surface.names), "bytes": surface.size},
        "sources": [
            {"source": share.source, "count": share.count, "bytes": share.size} for share in shares(surface)
        ],
        "limits": {
            "count": limits.max_tool_definitions_count,
            "bytes": limits.max_tool_definitions_bytes,
        },
        "fingerprint": surface.fingerprint,
    }
