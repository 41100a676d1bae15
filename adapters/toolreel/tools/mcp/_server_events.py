"""Events of MCP servers during a run, for a listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """A server has started and listed its tools."""

    server: str
    restarts: int
    """Number of earlier starts."""


@dataclass(frozen=True, slots=True)
class ServerEnded:
    """A server exited or the connection was lost, unexpectedly."""

    server: str
    why: str
    stderr: str = ""
    """The end of its output to stderr."""


@dataclass(frozen=True, slots=True)
class DefinitionsChanged:
    """The tools of a server changed; changed ones are rejected from now on, the others stay."""

    server: str
    changed: tuple[str, ...]
    """Inner names of tools whose definition changed; their calls are rejected."""
    gone: tuple[str, ...]
    """Inner names of removed tools."""
    added: tuple[str, ...]
    """Inner names of new tools, which the current run does not see."""


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """A server reported progress of a call."""

    name: str
    """The tool's inner name."""
    call_id: str
    progress: float
    total: float | None = None
    message: str = ""


McpNews: TypeAlias = ServerStarted | ServerEnded | DefinitionsChanged | CallProgressed


McpListener: TypeAlias = Callable[[McpNews], None]
"""A callback for events of servers; called from the event loop, so it must not block."""


def describe(news: McpNews) -> str:
    """A message about an event for people; empty for a first, normal start.

    >>> describe(ServerEnded("git", "it was ended by SIGKILL"))
    'MCP server git exited: it was ended by SIGKILL'
    """
    match news:
        case ServerStarted():
            return f"MCP server {news.server} was restarted" if news.restarts else ""
        case ServerEnded():
            last = news.stderr.strip()
            tail = f"; end of its stderr:\n{last}" if last else ""
            return f"MCP server {news.server} exited: {news.why}{tail}"
        case DefinitionsChanged():
            return "; ".join(
                f"MCP server {news.server} {what} {', '.join(names)}"
                for what, names in (
                    ("changed the definitions, which are now rejected, of:", news.changed),
                    ("no longer has", news.gone),
                    ("has new tools, which this run does not see:", news.added),
                )
                if names
            )
        case CallProgressed():
            of = "" if news.total is None else f" of {news.total:g}"
            return f"{news.name}: {news.progress:g}{of} {news.message}".rstrip()
        case _:
            assert_never(news)
