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
        MCP_PREFIX,
        SkippedTool,
        pins_beside,
        pins_of,
        read_pins,
        server_tools,
        unaccepted,
        write_pins,
    )
    from toolreel.tools.mcp._host import AsyncMcpTools, McpTools
    from toolreel.tools.mcp._results import error_event, result_event
    from toolreel.tools.mcp._server_events import (
        CallProgressed,
        DefinitionsChanged,
        McpListener,
        McpNews,
        ServerEnded,
        ServerStarted,
        describe,
    )
    from toolreel.tools.mcp._transports import (
        KnownProcess,
        answered_request,
        kill,
        known_process,
        with_descendants,
    )
else:
    from toolreel._internal.lazy import face

    __getattr__, __dir__ = face(
        __name__,
        {
            "_config_file": "HttpServer McpServer ServerSettings StdioServer mcp_servers read_mcp_servers",
            "_definitions": (
                "MCP_PREFIX SkippedTool pins_beside pins_of read_pins server_tools unaccepted "
                "write_pins"
            ),
            "_host": "AsyncMcpTools McpTools",
            "_results": "error_event result_event",
            "_server_events": (
                "CallProgressed DefinitionsChanged McpListener McpNews ServerEnded ServerStarted describe"
            ),
            "_transports": "KnownProcess answered_request kill known_process with_descendants",
        },
    )

# Public; the other names are for this project's own packages and tests.
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
