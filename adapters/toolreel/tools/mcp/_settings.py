"""MCP servers as they are configured: how each is reached, and what is wanted of its tools.

Reading them from a file is :mod:`toolreel.tools.mcp._config_file`'s part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from toolreel_core._errors import ConfigError

__all__ = ["HttpServer", "McpServer", "ServerSettings", "StdioServer"]

_NUMBERS: Final = {"deadline_ms": 1, "start_ms": 1, "max_restarts": 0, "max_message_bytes": 1024}
"""Settings that are whole numbers, and the least that each can be."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What is wanted of a server and its tools.

    Names of tools are the server's own, such as ``git_log``; ``*`` stands for any text.

    :raises ConfigError: if a number is too small to mean anything
    """

    allow: tuple[str, ...] = ("*",)
    """Only these tools are offered."""
    deny: tuple[str, ...] = ()
    """These are not, even where ``allow`` names them."""
    read_only: tuple[str, ...] = ()
    """These change nothing, so that calls may run at the same time."""
    needs_approval: tuple[str, ...] = ()
    """Somebody is asked before these run."""
    trust_hints: bool = False
    """Believe what the server says of its tools: one that only reads may run beside others, one that
    destroys needs approval. Who writes a server can write anything there, so nothing is believed unasked."""
    deadline_ms: int | None = None
    """Milliseconds that a call may take; what its host allows, if nothing is said. Progress adds nothing."""
    start_ms: int = 30_000
    """Milliseconds in which the server has to start and say what it offers."""
    max_restarts: int = 3
    """How often a server that ends by itself is started anew."""
    max_message_bytes: int = 4_000_000
    """The largest message that is taken in; a call with a larger answer fails."""

    def __post_init__(self) -> None:
        for name, least in _NUMBERS.items():
            number = getattr(self, name)
            if number is not None and (type(number) is not int or number < least):
                raise ConfigError(f"{name}: expected a whole number of at least {least}, got {number!r}")


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a process of its own, and is spoken to over its standard streams."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Set beside the few variables that every server gets: HOME, PATH and the like, and no secrets."""
    cwd: Path | None = None
    settings: ServerSettings = field(default_factory=ServerSettings)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that is spoken to over streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: ServerSettings = field(default_factory=ServerSettings)


McpServer: TypeAlias = StdioServer | HttpServer
