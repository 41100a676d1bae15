"""An MCP server as a process: its standard streams, bounded, and its end, with all that it has started.

The SDK's own transport takes a line of any length into memory. This one gives the SDK's session the same
streams, and lets go of what is too long.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from subprocess import PIPE
from typing import Final, cast

from toolreel._errors import MissingExtra
from toolreel.tools.mcp._lines import Lines, TooLong
from toolreel.tools.mcp._settings import StdioServer
from toolreel.tools.mcp._streams import Ending, Lost, NotReached, Streams

try:
    import anyio
    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCMessage
    from pydantic import ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["stdio_streams"]

_TAIL: Final = 4096
"""Bytes that are kept of what a server writes to stderr."""
_NOISE: Final = 8
"""How many times a message's largest size a server may write that is no message, until it is ended."""
_GRACE: Final = 1.0
"""Seconds in which a process has to end once it is asked to, and again once it is told to."""


@asynccontextmanager
async def stdio_streams(server: StdioServer, lost: Lost, ending: Ending) -> AsyncGenerator[Streams]:
    """Start a server, and end it and all that it has started when the context is left.

    :param lost: is told of an answer that was too large
    :param ending: keeps how the process ended, and the last that it wrote to stderr
    :raises NotReached: if it cannot be started
    """
    process = await _started(server)
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    pipes = process.stdin, process.stdout, process.stderr
    stdin, stdout, stderr = cast("tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]", pipes)
    try:
        async with anyio.create_task_group() as group, incoming, outgoing:
            reader = _Reader(process, to_session, server.settings.max_message_bytes, lost, ending)
            group.start_soon(reader.read, stdout)
            group.start_soon(_write, stdin, from_session)
            group.start_soon(_listen, stderr, ending)
            try:
                yield Streams(incoming, outgoing)
            finally:
                ending.wanted = True
                with anyio.CancelScope(shield=True):
                    await _end(process, at_once=reader.flooded)
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _started(server: StdioServer) -> Process:
    environment = {**get_default_environment(), **server.env}
    command = shutil.which(server.command, path=environment.get("PATH"))
    if command is None:
        raise NotReached(f"there is no command {server.command!r}; install it, or give its whole path")
    try:
        return await anyio.open_process(
            [command, *server.args],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            cwd=server.cwd,
            start_new_session=True,  # Ctrl-C is for this process, which then ends the server in its own time
        )
    except OSError as error:
        raise NotReached(f"cannot start {server.command!r}: {error.strerror or error}") from None


class _Reader:
    """Hands the messages on that a process writes; passes over lines that are none, up to a point."""

    def __init__(
        self,
        process: Process,
        to_session: MemoryObjectSendStream[SessionMessage | Exception],
        limit: int,
        lost: Lost,
        ending: Ending,
    ) -> None:
        self._process = process
        self._to_session = to_session
        self._limit = limit
        self._lost = lost
        self._ending = ending
        self._noise = 0
        self.flooded = False
        """It was given up on, since it wrote too much that is no message."""

    async def read(self, stdout: ByteReceiveStream) -> None:
        """Read to the end, which is the end of the session as well."""
        lines = Lines(self._limit)
        async with self._to_session:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while not self._floods(lines):
                    for line in lines.feed(await stdout.receive()):
                        await self._take(line)
            await self._note_the_end()

    async def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._noise += line.size
            what = f"its answer has {line.size} bytes; the most that is taken in is {self._limit}"
            self._lost(line.request_id, what)
            return
        message = _message(line)
        if message is None:
            self._noise += len(line) + 1
        else:
            await self._to_session.send(SessionMessage(message))

    def _floods(self, lines: Lines) -> bool:
        self.flooded = self._noise + lines.passed > _NOISE * self._limit
        if self.flooded:
            self._ending.because(f"it wrote more than {_NOISE * self._limit} bytes that are no messages")
        return self.flooded

    async def _note_the_end(self) -> None:
        """Wait a moment for the process to be gone, since how it ended says most."""
        if self._ending.wanted or self.flooded:
            return
        with anyio.move_on_after(_GRACE):
            status = await self._process.wait()
            self._ending.because(_status(status))
        self._ending.because("it closed its output")


def _message(line: bytes) -> JSONRPCMessage | None:
    """What a line says, if it is a message; most that are none do not even begin like one."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return JSONRPCMessage.model_validate_json(line)
    except ValidationError:
        return None


async def _write(stdin: ByteSendStream, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with from_session:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for sent in from_session:
                line = sent.message.model_dump_json(by_alias=True, exclude_none=True)
                await stdin.send(line.encode() + b"\n")


async def _listen(stderr: ByteReceiveStream, ending: Ending) -> None:
    tail = b""
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            tail = (tail + await stderr.receive())[-_TAIL:]
            ending.stderr = tail.decode("utf-8", "replace")


async def _end(process: Process, *, at_once: bool) -> None:
    """As the protocol wants it: close its input, then ask, then force; whatever it has started goes too."""
    if process.stdin:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.aclose()
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)
    for how in (kill,) if at_once else (None, signal.SIGTERM, kill):
        if how is not None:
            _signal(process, how)
        with anyio.move_on_after(_GRACE):
            await process.wait()
            break
    _signal(process, kill)


def _signal(process: Process, how: signal.Signals) -> None:
    """Send a signal to the process and to all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, how)


def _status(status: int) -> str:
    if status < 0:
        try:
            return f"it was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"it was ended by signal {-status}"
    return f"it ended with exit code {status}"
