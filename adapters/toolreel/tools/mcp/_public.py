"""The public names of ``toolreel.tools.mcp``."""

from toolreel.tools.mcp._config_file import HttpServer, McpServer, StdioServer, mcp_servers, read_mcp_servers
from toolreel.tools.mcp._definitions import pins_of, read_pins, write_pins
from toolreel.tools.mcp._host import AsyncMcpTools, McpTools
from toolreel.tools.mcp._server_events import (
    CallProgressed,
    DefinitionsChanged,
    McpListener,
    McpNews,
    ServerEnded,
    ServerStarted,
)

__all__ = [
    "AsyncMcpTools",
    "CallProgressed",
    "DefinitionsChanged",
    "HttpServer",
    "McpListener",
    "McpNews",
    "McpServer",
    "McpTools",
    "ServerEnded",
    "ServerStarted",
    "StdioServer",
    "mcp_servers",
    "pins_of",
    "read_mcp_servers",
    "read_pins",
    "write_pins",
]
