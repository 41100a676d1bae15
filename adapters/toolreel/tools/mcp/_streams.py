"""What a connection to an MCP server is made of, whichever way it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from toolreel._errors import AdapterError, MissingExtra

try:
    import anyio
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["Ending", "Lost", "NotReached", "Streams"]

Lost: TypeAlias = Callable[[int | None, str], None]
"""Told of an answer that was not taken in: the id of its request, if it is known, and why."""


class Streams(NamedTuple):
    """What the SDK's session reads from and writes to."""

    incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
    outgoing: MemoryObjectSendStream[SessionMessage]


class NotReached(AdapterError):
    """A server that cannot be started or reached; the text says why, and is shown with the server's name."""


class Ending:
    """How a connection ends: whoever sees the end says why, and the first word counts."""

    def __init__(self) -> None:
        self.why = ""
        self.stderr = ""
        """The last that the server's process wrote there."""
        self.wanted = False
        """Somebody here has ended it, so that what follows is no news."""
        self.over = anyio.Event()

    def because(self, why: str) -> None:
        """The connection is at its end; what follows from a first reason is no reason of its own."""
        self.why = self.why or why
        self.over.set()
