"""What both transports to an MCP server share: how a connection ends, and answers that are not delivered."""

from __future__ import annotations

from typing import Final

from toolreel._errors import AdapterError, MissingExtra

try:
    import anyio
    from mcp import types
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["TOO_LARGE", "ConnectionEnd", "ServerUnreachable", "too_large_error"]

TOO_LARGE: Final = -1_000_001
"""Error code for an answer that a transport rejected for its size; JSON-RPC reserves other ones."""


class ServerUnreachable(AdapterError):
    """A server that cannot be started or reached; the text says why, and is shown with the server's name."""


class ConnectionEnd:
    """How a connection ends; the first reason given is the one that counts."""

    def __init__(self) -> None:
        self.why = ""
        self.stderr = ""
        """The last output of the server's process to stderr."""
        self.wanted = False
        """The client asked for the end, so it is no news."""
        self.over = anyio.Event()
        """Set by anyone who wants the connection closed, or notices that it is."""
        self.explained = anyio.Event()

    def because(self, why: str) -> None:
        """End the connection and keep the reason, unless there is one: later ones follow from the first."""
        self.why = self.why or why
        self.over.set()
        self.explained.set()


def too_large_error(request_id: types.RequestId | None) -> types.JSONRPCError:
    """The error that replaces an oversized answer, so that only its call fails."""
    error = types.ErrorData(code=TOO_LARGE, message="its answer exceeds the limit")
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
