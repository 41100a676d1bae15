"""``--mcp FILE`` and ``--accept``: MCP servers that run while a command needs them."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from toolreel._cli.output.console import counted, err, printable
from toolreel._driver.ports import ToolHost
from toolreel.tools.mcp._config_file import read_mcp_servers
from toolreel.tools.mcp._server_events import McpListener
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition

mcp_option = click.option(
    "--mcp",
    "mcp_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Configuration of MCP servers, in the mcpServers JSON of other clients. Their tools are named "
    "mcp_SERVER_TOOL.",
)
accept_option = click.option(
    "--accept",
    is_flag=True,
    help="Accept the current definitions of the MCP tools. Their fingerprints are kept next to FILE in "
    ".pins.json; from then on, new and changed tools are left out until you accept them.",
)


@dataclass(frozen=True, slots=True)
class McpToolset:
    """The tools of MCP servers, and the host that runs them."""

    definitions: tuple[ToolDefinition, ...] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """Tool hosts by the prefix of the tool names that they run."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Credentials of the servers by name, to keep out of recordings."""


@contextmanager
def mcp_tools(
    file: Path | None, listen: McpListener | None = None, *, accept: bool = False
) -> Generator[McpToolset]:
    """Start the servers of a configuration file; end them when the context exits.

    :param accept: offer all tools, whether they were accepted before or not
    :raises AdapterError: if the file cannot be used, or a server cannot be started
    """
    if file is None:
        yield McpToolset()
        return
    servers = read_mcp_servers(file)
    from toolreel.tools.mcp._definitions import MCP_PREFIX, pins_beside, read_pins
    from toolreel.tools.mcp._host import McpTools

    # The SDK logs problems through the root logger, which would print them to stderr. Those that matter
    # reach the user as an error or as an event.
    logging.getLogger().addHandler(logging.NullHandler())
    pins = None if accept else read_pins(pins_beside(file))
    with McpTools(servers, pins=pins, listen=listen) as tools:
        for each in tools.left_out:
            remedy = f"; {each.remedy}: toolreel tools --mcp {shlex.quote(str(file))} --accept" * bool(
                each.remedy
            )
            err.print(printable(f"left out    {each.name}: {each.why}{remedy}"), style="yellow")
        yield McpToolset(tools.surface.definitions, {f"{MCP_PREFIX}_": tools}, tools.secrets)


def save_pins(file: Path | None, toolset: McpToolset, *, accept: bool) -> None:
    """Write the pins of the tools, if ``--accept`` was given.

    :raises click.UsageError: if ``--accept`` was given without ``--mcp``
    """
    if not accept:
        return
    if file is None:
        raise click.UsageError("--accept needs --mcp FILE: it accepts the definitions of MCP tools")
    from toolreel.tools.mcp._definitions import pins_beside, pins_of, write_pins

    pins = pins_beside(file)
    write_pins(pins, pins_of(ToolSurface(toolset.definitions)))
    err.print(printable(f"accepted    {counted(len(toolset.definitions), 'tool')}, kept in {pins}"))
