"""What happens around MCP servers while a run goes on, for those who want to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias, assert_never

__all__ = [
    "CallProgressed",
    "DefinitionsChanged",
    "McpListener",
    "McpNews",
    "ServerEnded",
    "ServerStarted",
    "describe",
]


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """A server is there, and has said what it offers."""

    server: str
    restarts: int
    """How often it had been started before."""


@dataclass(frozen=True, slots=True)
class ServerEnded:
    """A server ended, or was lost, without having been asked to."""

    server: str
    why: str
    stderr: str = ""
    """The last that it wrote there."""


@dataclass(frozen=True, slots=True)
class DefinitionsChanged:
    """A server offers other tools than before; those of the run stay as they are, or are refused."""

    server: str
    changed: tuple[str, ...]
    """Inner names of tools whose definition is another now: their calls are refused."""
    gone: tuple[str, ...]
    """Inner names of tools that are no longer there."""
    added: tuple[str, ...]
    """Inner names of tools that are new; a run that has begun does not see them."""


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """A server said how far it is with a call."""

    name: str
    """The tool's inner name."""
    call_id: str
    progress: float
    total: float | None = None
    message: str = ""


McpNews: TypeAlias = ServerStarted | ServerEnded | DefinitionsChanged | CallProgressed


class McpListener(Protocol):
    """Somebody who wants to know; it is called from the event loop, so it must not wait."""

    def __call__(self, news: McpNews, /) -> None:
        """Look at a piece of news."""
        ...


def describe(news: McpNews) -> str:
    """The news in words; none for what is as it should be.

    >>> describe(ServerEnded("git", "it was ended by SIGKILL"))
    'MCP server git went away: it was ended by SIGKILL'
    """
    match news:
        case ServerStarted():
            return f"MCP server {news.server} is there again" if news.restarts else ""
        case ServerEnded():
            last = news.stderr.strip()
            tail = f"; the last it wrote to stderr:\n{last}" if last else ""
            return f"MCP server {news.server} went away: {news.why}{tail}"
        case DefinitionsChanged():
            return "; ".join(
                f"MCP server {news.server} {what} {', '.join(names)}"
                for what, names in (
                    ("defines otherwise, which is refused:", news.changed),
                    ("no longer has", news.gone),
                    ("has now, which a run that has begun does not see:", news.added),
                )
                if names
            )
        case CallProgressed():
            of = "" if news.total is None else f" of {news.total:g}"
            return f"{news.name}: {news.progress:g}{of} {news.message}".rstrip()
        case _:
            assert_never(news)
