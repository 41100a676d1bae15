"""One MCP server for as long as a host has it: started, watched, asked, started anew when it has ended.

A task of its own enters and leaves the connection, as anyio wants it; calls come from any task. What the
server offers is frozen when it first starts. Whenever it is listed again, after a restart or because the
server says so, each definition is compared with that, and a tool that has become another one is refused.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

from toolreel._errors import AdapterError, McpServerError, MissingExtra
from toolreel.tools._python.host import timed_out
from toolreel.tools.mcp._definitions import Offer, Offered, offer_of
from toolreel.tools.mcp._events import (
    CallProgressed,
    DefinitionsChanged,
    McpNews,
    ServerEnded,
    ServerStarted,
)
from toolreel.tools.mcp._http import http_streams
from toolreel.tools.mcp._results import answered, refused, too_large, unavailable, unreadable
from toolreel.tools.mcp._session import AnswerLost, AnswerTooLarge, Gone, Session
from toolreel.tools.mcp._settings import HttpServer, McpServer, StdioServer
from toolreel.tools.mcp._stdio import stdio_streams
from toolreel.tools.mcp._streams import Ending, Lost, NotReached, Streams
from toolreel_core._jsontext.canonical import parse
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.faults import tool_changed, tool_not_implemented
from toolreel_core._tools.result import failed

try:
    import anyio
    from anyio.abc import TaskGroup, TaskStatus
    from mcp import McpError
    from mcp.shared.session import ProgressFnT
    from mcp.types import Tool
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["Server"]

_LAST_WORDS = 2.0
"""Seconds to wait for the reason of an end that a call has seen first."""


@dataclass(slots=True)
class _Link:
    """One connection."""

    session: Session
    ending: Ending
    stale: bool = False
    """The server has said that it offers other tools now, and nobody has looked."""
    listing: anyio.Lock = field(default_factory=anyio.Lock)


class Server:
    """A server, its tools, and the connection that there is to it at the moment.

    :param tell: is told of everything that happens around it
    """

    def __init__(self, config: McpServer, group: TaskGroup, tell: Callable[[McpNews], None]) -> None:
        self.config = config
        self.offer = Offer({})
        """What it offered when it first started."""
        self._group = group
        self._tell = tell
        self._link: _Link | None = None
        self._starting = anyio.Lock()
        self._starts = 0
        self._now: Offer | None = None
        """What it offers now."""

    async def open(self) -> None:
        """Start it, and keep what it offers.

        :raises McpServerError: if it cannot be started or does not say what it offers
        """
        try:
            await self._linked()
        except NotReached as error:
            raise McpServerError(f"MCP server {self.config.name!r}: {error}") from None

    def close(self) -> None:
        """Ask the connection to end; it takes a moment."""
        if self._link and not self._link.ending.over.is_set():
            self._link.ending.wanted = True
            self._link.ending.over.set()

    async def run(self, effect: RunTool, tool: Offered, deadline: float | None) -> ToolReturned:
        """Have one of its tools run, and put whatever comes of it into words for the model."""
        who = f"the MCP server {self.config.name!r}"
        try:
            link = await self._linked()
            await self._look_again(link)
        except NotReached as error:
            return unavailable(effect, f"{who} is not there: {error}", begun=False)
        except (Gone, AnswerLost, McpError) as error:
            return unavailable(effect, f"{who} does not say what it offers: {error}", begun=False)
        if wrong := self._wrong(effect, tool):
            return wrong
        try:
            with anyio.move_on_after(math.inf if deadline is None else deadline):
                arguments = cast("dict[str, Any]", parse(effect.arguments))
                progress = self._progress(effect)
                return answered(effect, await link.session.call(tool.name, arguments, effect.key, progress))
            return timed_out(effect, deadline or 0)
        except McpError as error:
            return refused(effect, error.error)
        except AnswerTooLarge as error:
            return too_large(effect, str(error))
        except AnswerLost as error:
            return unreadable(effect, str(error))
        except Gone:
            link.ending.over.set()
            return unavailable(effect, f"{who} went away: {await _reason(link)}", begun=True)

    async def _linked(self) -> _Link:
        """The connection that there is, or a new one.

        :raises NotReached: if there is none to be had
        """
        async with self._starting:
            if self._link and not self._link.ending.over.is_set():
                return self._link
            most = self.config.settings.max_restarts
            if self._starts > most:
                raise NotReached(f"it has ended too often; it is started anew at most {most} times")
            self._starts += 1
            link: _Link = await self._group.start(self._serve)
            self._link = link
            return link

    async def _serve(self, *, task_status: TaskStatus[_Link]) -> None:
        """Hold a connection from its beginning to its end, in one task."""
        ending = Ending()
        begun = asked = False
        try:
            with anyio.CancelScope() as scope:
                scope.deadline = anyio.current_time() + self.config.settings.start_ms / 1000
                async with self._connected(ending) as link:
                    await link.session.begin()
                    self._compare(await link.session.listed())
                    scope.deadline = math.inf
                    begun = True
                    self._tell(ServerStarted(self.config.name, self._starts - 1))
                    task_status.started(link)
                    await ending.over.wait()
                    asked = ending.wanted
            if scope.cancelled_caught:
                ending.because(f"it did not say what it offers within {self.config.settings.start_ms} ms")
        except Exception as error:  # noqa: BLE001 - whatever broke, it is the server's and not the run's
            ending.because(_words(error))
        if not begun:
            raise NotReached(_with_stderr(ending))
        if not asked:
            self._tell(ServerEnded(self.config.name, ending.why, ending.stderr))

    @asynccontextmanager
    async def _connected(self, ending: Ending) -> AsyncGenerator[_Link]:
        link: _Link | None = None

        def lose(request_id: int | None, why: str) -> None:
            if link:
                link.session.lose(request_id, AnswerTooLarge(why))

        def change() -> None:
            if link:
                link.stale = True

        async with _streams(self.config, lose, ending) as streams, Session(streams, change) as session:
            link = _Link(session, ending)
            try:
                yield link
            finally:
                session.lose(None, Gone())

    async def _look_again(self, link: _Link) -> None:
        async with link.listing:
            if link.stale:
                link.stale = False
                self._compare(await link.session.listed())

    def _compare(self, listed: list[Tool]) -> None:
        """Keep what there is now, and say in what it differs from what there was."""
        before, there = self._now, offer_of(self.config.name, listed, self.config.settings)
        self._now = there
        if before is None:
            self.offer = there
        if before is None or before == there:
            return
        was, now = self.offer.tools, there.tools
        changed = tuple(name for name in was if name in now and now[name] != was[name])
        gone = tuple(name for name in was if name not in now)
        added = tuple(name for name in now if name not in was)
        self._tell(DefinitionsChanged(self.config.name, changed, gone, added))

    def _wrong(self, effect: RunTool, tool: Offered) -> ToolReturned | None:
        now = self._now.tools.get(effect.name) if self._now else None
        if now == tool:
            return None
        fault = tool_not_implemented(effect.name) if now is None else tool_changed(effect.name)
        return ToolReturned(effect.ref, failed(effect.name, fault).text())

    def _progress(self, effect: RunTool) -> ProgressFnT:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            self._tell(CallProgressed(effect.name, effect.call_id, progress, total, message or ""))

        return hear


@asynccontextmanager
async def _streams(config: McpServer, lost: Lost, ending: Ending) -> AsyncGenerator[Streams]:
    match config:
        case StdioServer():
            async with stdio_streams(config, lost, ending) as streams:
                yield streams
        case HttpServer():
            async with http_streams(config, lost, ending) as streams:
                yield streams
        case _:
            assert_never(config)


async def _reason(link: _Link) -> str:
    """Why a connection ended; who reads from it first may know it later."""
    with anyio.move_on_after(_LAST_WORDS):
        while not link.ending.why:
            await anyio.sleep(0.01)
    return link.ending.why or "it ended the connection"


def _words(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    first = str(error).partition("\n")[0]
    return (
        first if isinstance(error, AdapterError | McpError) and first else f"{type(error).__name__}: {first}"
    )


def _with_stderr(ending: Ending) -> str:
    last = ending.stderr.strip()
    return f"{ending.why}; the last it wrote to stderr:\n{last}" if last else ending.why
