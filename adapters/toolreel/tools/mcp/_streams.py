"""Shared by both transports to an MCP server: the end of a connection, and oversized responses."""

from __future__ import annotations

from typing import Final

from toolreel._errors import AdapterError, MissingExtra

try:
    import anyio
    from mcp import types
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

TOO_LARGE: Final = -1_000_001
"""Error code for a response that exceeds the limit; outside the range that JSON-RPC reserves."""


class ServerUnreachable(AdapterError):
    """A server cannot be started or reached; the text is the reason, without the server's name."""


class ConnectionEnd:
    """State of a connection's end; only the first reason is kept."""

    def __init__(self) -> None:
        self.why = ""
        self.stderr = ""
        """The last output of the server's process to stderr."""
        self.requested = False
        """We asked for the end, so it is not reported."""
        self.over = anyio.Event()
        """Set when the connection shall close, or is closed."""
        self.explained = anyio.Event()

    def because(self, why: str) -> None:
        """End the connection, and keep the reason if it is the first: later ones are consequences."""
        self.why = self.why or why
        self.over.set()
        self.explained.set()


def too_large_error(request_id: types.RequestId | None) -> types.JSONRPCError:
    """The error that replaces an oversized response, so that only its call fails."""
    error = types.ErrorData(code=TOO_LARGE, message="its answer exceeds the limit")
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
