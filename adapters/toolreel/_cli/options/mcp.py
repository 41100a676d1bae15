"""``--mcp FILE``: the servers of a file for as long as a command needs them, and what is not as it was."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from toolreel._cli.output.console import err, printable
from toolreel._driver.ports import ToolHost
from toolreel.tools.mcp._config_file import read_mcp_servers
from toolreel.tools.mcp._events import McpListener
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

__all__ = ["McpToolset", "accept_option", "mcp_option", "mcp_tools", "save_pins"]

mcp_option = click.option(
    "--mcp",
    "mcp_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="MCP servers, in the mcpServers JSON that other clients use; their tools are mcp_SERVER_TOOL.",
)
accept_option = click.option(
    "--accept",
    is_flag=True,
    help="Accept the definitions of the MCP tools as they are now: kept in FILE's .pins.json, from then on "
    "tools that are new or defined otherwise are left out.",
)


@dataclass(frozen=True, slots=True)
class McpToolset:
    """What the servers of a file offer, and who runs it."""

    definitions: tuple[ToolDefinition, ...] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """By the prefix of the names of their tools."""


@contextmanager
def mcp_tools(
    file: Path | None, listen: McpListener | None = None, *, accept: bool = False
) -> Generator[McpToolset]:
    """Start the servers of a file, if there is one, and end them when the context is left.

    :param accept: offer all tools, whatever was accepted before
    :raises AdapterError: if the file cannot be used, or a server cannot be started
    """
    if file is None:
        yield McpToolset()
        return
    servers = read_mcp_servers(file)
    from toolreel.tools.mcp._definitions import MCP_PREFIX
    from toolreel.tools.mcp._host import McpTools
    from toolreel.tools.mcp._pins import pins_beside, read_pins

    # The SDK logs what it stumbles over; whatever matters of that comes back as an answer or as news.
    logging.getLogger().addHandler(logging.NullHandler())
    pins = None if accept else read_pins(pins_beside(file))
    with McpTools(servers, pins=pins, listen=listen) as tools:
        for each in tools.left_out:
            remedy = f"; {each.remedy}: toolreel tools --mcp {shlex.quote(str(file))} --accept" * bool(
                each.remedy
            )
            err.print(printable(f"left out    {each.name}: {each.why}{remedy}"), style="yellow")
        yield McpToolset(tools.surface.definitions, {f"{MCP_PREFIX}_": tools})


def save_pins(file: Path | None, found: McpToolset, *, accept: bool) -> None:
    """Keep the definitions as they are now, if that is wanted.

    :raises click.UsageError: if there is no file that they would belong to
    """
    if not accept:
        return
    if file is None:
        raise click.UsageError("--accept is for MCP tools; say which: --mcp FILE")
    from toolreel.tools.mcp._pins import pins_beside, pins_of, write_pins

    pins = pins_beside(file)
    write_pins(pins, pins_of(ToolSurface(found.definitions)))
    err.print(printable(f"accepted    {len(found.definitions)} tools, kept in {pins}"))
