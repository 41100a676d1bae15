"""Tools of MCP servers, over stdio or streamable HTTP."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.tools.mcp._config_file import (
        HttpServer,
        McpServer,
        ServerSettings,
        StdioServer,
        mcp_servers,
        read_mcp_servers,
    )
    from toolreel.tools.mcp._definitions import (
        pins_beside,
        pins_of,
        read_pins,
        server_tools,
        unaccepted_tools,
        write_pins,
    )
    from toolreel.tools.mcp._host import AsyncMcpTools, McpTools
    from toolreel.tools.mcp._results import error_event, result_event
    from toolreel.tools.mcp._server import McpListener, McpNews
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("mcp"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "AsyncMcpTools",
    "HttpServer",
    "McpListener",
    "McpNews",
    "McpServer",
    "McpTools",
    "StdioServer",
    "mcp_servers",
    "pins_of",
    "read_mcp_servers",
    "read_pins",
    "write_pins",
]
