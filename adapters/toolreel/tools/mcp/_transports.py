"""Bounded transports to an MCP server: in a child process, and over streamable HTTP.

The SDK's own stdio transport buffers lines of any length, parses every line, writes stderr to a file and does
not report how the process ended. Its HTTP transport limits the events of a stream, but reads a JSON response
of any size and drops the status of an error.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from subprocess import PIPE
from typing import Any, Final, NamedTuple, cast

from toolreel._internal import MissingExtra
from toolreel.tools.mcp._config_file import HttpServer, StdioServer
from toolreel.tools.mcp._results import (
    SESSION_FORGOTTEN,
    UNREADABLE,
    ConnectionEnd,
    ServerUnreachable,
    replacing_error,
    too_large_error,
)
from toolreel_core._jsontext import Json, finite, read_tolerant

try:
    import anyio
    import httpx2
    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.buffered import BufferedByteReceiveStream
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp import types
    from mcp.client.stdio import get_default_environment
    from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
    from mcp.shared.message import SessionMessage
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


_PARENT, _STARTED = 1, 19
"""Fields of /proc/PID/stat, counted from the one after the name of the command."""
_GONE: Final = (FileNotFoundError, ProcessLookupError)


class KnownProcess(NamedTuple):
    """A process by what no other one shares: a pid alone is used again after its process has ended."""

    pid: int
    started: int
    """In clock ticks since the system started."""


def known_process(pid: int) -> KnownProcess | None:
    """The process that has a pid now."""
    found = _process_of(pid)
    return found[0] if found else None


def with_descendants(known: frozenset[KnownProcess]) -> frozenset[KnownProcess]:
    """Those processes that still run, and all that these started.

    A process whose parent has ended is no longer found through it: look while the parent runs, and pass on
    what was found.
    """
    children = _processes_by_parent()
    found: set[KnownProcess] = set()
    left = [each for each in known if known_process(each.pid) == each]
    while left:
        process = left.pop()
        if process not in found:
            found.add(process)
            left += children.get(process.pid, ())
    return frozenset(found)


def kill(known: frozenset[KnownProcess]) -> None:
    """Kill those processes that still run."""
    for process in known:
        if known_process(process.pid) == process:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def _processes_by_parent() -> Mapping[int, list[KnownProcess]]:
    """All processes, by the pid of their parent."""
    children: dict[int, list[KnownProcess]] = {}
    if sys.platform == "linux":
        for name in os.listdir("/proc"):
            if name.isdecimal() and (found := _process_of(int(name))):
                process, parent = found
                children.setdefault(parent, []).append(process)
    return children


def _process_of(pid: int) -> tuple[KnownProcess, int] | None:
    """A process, and the pid of its parent."""
    if sys.platform != "linux":
        return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the command is in brackets, and may itself hold brackets and spaces.
            fields = file.read().rpartition(b")")[2].split()
    except _GONE:
        return None
    return KnownProcess(pid, int(fields[_STARTED])), int(fields[_PARENT])


_STDERR_TAIL: Final = 4096
"""Bytes kept of what a server writes to stderr."""
_MAX_NOISE_RATIO: Final = 8
"""Maximum of other output before a server is killed, as a multiple of the message limit."""
_GRACE: Final = 1.0
"""Seconds for a process to exit after its stdin closes, and again after SIGTERM."""
_QUEUE: Final = 100
"""Length of the queue for a server that does not read. Without a queue, a call would exceed its deadline: the
SDK blocks until the server has read the notification of the cancellation, up to five seconds."""
_EDGE_BYTES: Final = 512
"""Bytes kept of each end of an oversized line."""

# The id of a response, before or after its result. Anchored to the ends of the line, so that an id inside
# the result does not match.
# A line that is meant as a message, or the first line of one that is wrapped.
_MESSAGE: Final = re.compile(rb'\[?\s*\{.*"(?:jsonrpc|id)"|"jsonrpc"\s*:', re.DOTALL)
_SAMPLE: Final = 80
"""Bytes of an unreadable line that an error shows."""
_VERSION: Final = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID: Final = rb'"id"\s*:\s*"?(\d{1,15})"?'
_FIRST: Final = re.compile(rb"^\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*,")
_LAST: Final = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*$")

_BROKEN: Final = (
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


@asynccontextmanager
async def stdio_transport(
    server: StdioServer, ending: ConnectionEnd
) -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """Start a server; on leaving the context, end it and all processes that it started.

    :param ending: receives the reason of the end, and the tail of stderr
    :raises ServerUnreachable: if it cannot be started
    """
    process = await _start_process(server)
    family = frozenset(known for known in [known_process(process.pid)] if known)
    pipes = process.stdin, process.stdout, process.stderr
    stdin, stdout, stderr = cast("tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]", pipes)
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](_QUEUE)
    talk = _Conversation(process, server.settings.max_message_bytes, ending)
    try:
        async with anyio.create_task_group() as group, incoming, outgoing:
            group.start_soon(talk.read, stdout, to_client)
            group.start_soon(talk.write, from_client, stdin)
            group.start_soon(_keep_tail, stderr, ending)
            try:
                yield incoming, outgoing
            finally:
                ending.requested = True
                with anyio.CancelScope(shield=True):
                    await _end_process(process, family, at_once=talk.flooded)
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _start_process(server: StdioServer) -> Process:
    environment = {**get_default_environment(), **server.env}
    command = shutil.which(server.command, path=environment.get("PATH"))
    if command is None:
        raise ServerUnreachable(f"there is no command {server.command!r}; install it, or give its full path")
    try:
        return await anyio.open_process(
            [command, *server.args],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            cwd=server.cwd,
            start_new_session=True,  # so that Ctrl-C reaches only this process, which then stops the server
        )
    except OSError as error:
        raise ServerUnreachable(f"cannot start {server.command!r}: {error.strerror or error}") from None


class _Conversation:
    """Messages to and from a process; other output is skipped, up to a limit."""

    def __init__(self, process: Process, limit: int, ending: ConnectionEnd) -> None:
        self._process = process
        self._limit = limit
        self._ending = ending
        self._pending: set[types.RequestId] = set()
        """Ids of requests without a response yet."""
        self._noise = 0
        self.flooded = False
        """The server wrote too much output that is not a message."""

    async def write(
        self, from_client: MemoryObjectReceiveStream[SessionMessage], stdin: ByteSendStream
    ) -> None:
        async with from_client:
            with suppress(*_BROKEN):
                async for outgoing in from_client:
                    if isinstance(outgoing.message, types.JSONRPCRequest):
                        self._pending.add(outgoing.message.id)
                    line = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(line.encode() + b"\n")

    async def read(
        self, stdout: ByteReceiveStream, to_client: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Read until the output ends, which also ends the connection."""
        lines = BufferedByteReceiveStream(stdout)
        async with to_client:
            with suppress(*_BROKEN):
                while not self.flooded:
                    for message in await self._messages_in(lines):
                        await to_client.send(SessionMessage(message))
            # Explained before the stream closes, so that a call that fails with it finds the reason.
            await self._explain_the_end()

    async def _messages_in(self, lines: BufferedByteReceiveStream) -> list[types.JSONRPCMessage]:
        """The message on the next line, if it is one; for an oversized line, errors that replace it."""
        head = tail = b""
        size = 0
        while not self.flooded:
            try:
                line = await lines.receive_until(b"\n", self._limit)
            except anyio.DelimiterNotFound:
                # The buffer has at least `limit` bytes of the line: drop them, and continue to its end.
                chunk = await lines.receive_exactly(self._limit)
                head, tail, size = head or chunk[:_EDGE_BYTES], chunk[-_EDGE_BYTES:], size + len(chunk)
                self._count_bytes(len(chunk))
                continue
            size += len(line)
            if size > self._limit:
                lost = self._fail_requests(
                    answered_request(head or line[:_EDGE_BYTES], tail + line[-_EDGE_BYTES:])
                )
                return [too_large_error(each) for each in lost]
            return self._parse_line(line.strip().removeprefix(codecs.BOM_UTF8))
        return []

    def _parse_line(self, line: bytes) -> list[types.JSONRPCMessage]:
        """The messages of a line; if it is a response that cannot be read, errors that replace it."""
        # Most other output does not start like a message, which saves parsing it.
        if line.startswith(b"{"):
            with suppress(ValueError):
                return self._without_answered(
                    types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                )
        if _MESSAGE.match(line):
            tree = read_tolerant(line.decode("utf-8", "replace")).value_or(None)
            batch = tree if isinstance(tree, list) else [tree]
            return [message for each in batch for message in self._mend_message(finite(each), line)]
        self._count_bytes(len(line) + 1)
        return []

    def _without_answered(self, message: types.JSONRPCMessage) -> list[types.JSONRPCMessage]:
        """The message; the id of a response as it was in its request."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            if isinstance(message.id, str) and message.id.isdecimal() and message.id not in self._pending:
                message.id = int(message.id)
            if message.id is None:  # the server could not read which request it was
                return [message.model_copy(update={"id": each}) for each in self._fail_requests(None)]
            self._pending.discard(message.id)
        return [message]

    def _mend_message(self, tree: Json, line: bytes) -> list[types.JSONRPCMessage]:
        """A message that is nearly one; for a response that is not, errors that replace it."""
        if isinstance(tree, Mapping):
            with suppress(ValueError):
                whole = {"jsonrpc": "2.0", **tree}
                return self._without_answered(
                    types.jsonrpc_message_adapter.validate_python(whole, by_name=False)
                )
        if b'"method"' in line[:_EDGE_BYTES]:
            self._count_bytes(len(line) + 1)
            return []
        known = tree.get("id") if isinstance(tree, Mapping) else None
        request_id = known if isinstance(known, int | str) else None
        request_id = request_id or answered_request(line[:_EDGE_BYTES], line[-_EDGE_BYTES:])
        why = f"its answer cannot be read: {line[:_SAMPLE].decode('utf-8', 'replace')!r}"
        return [replacing_error(each, UNREADABLE, why) for each in self._fail_requests(request_id)]

    def _fail_requests(self, request_id: types.RequestId | None) -> set[types.RequestId]:
        """The requests that a lost response answers: all pending ones, if its id is unknown."""
        lost = {request_id} if request_id in self._pending else set(self._pending)
        self._pending -= lost
        return lost

    def _count_bytes(self, size: int) -> None:
        self._noise += size
        if self._noise > _MAX_NOISE_RATIO * self._limit:
            self.flooded = True
            self._ending.because(
                f"it wrote more than {_MAX_NOISE_RATIO * self._limit} bytes that are no messages"
            )

    async def _explain_the_end(self) -> None:
        """Wait briefly for the process to exit, because its status is the best explanation."""
        if self._ending.requested or self.flooded:
            return
        with anyio.move_on_after(_GRACE):
            self._ending.because(_exit_words(await self._process.wait()))
        self._ending.because("it closed its output")


def answered_request(head: bytes, tail: bytes) -> int | None:
    """The id of the request that an oversized line answers, if it is near one end.

    >>> answered_request(b'{"jsonrpc":"2.0","id":7,"result":{"content', b"")
    7
    """
    found = _FIRST.search(head) or _LAST.search(tail)
    return int(found[1]) if found else None


async def _keep_tail(stderr: ByteReceiveStream, ending: ConnectionEnd) -> None:
    tail = b""
    with suppress(*_BROKEN):
        while True:
            tail = (tail + await stderr.receive())[-_STDERR_TAIL:]
            ending.stderr = tail.decode("utf-8", "replace")


async def _end_process(process: Process, family: frozenset[KnownProcess], *, at_once: bool) -> None:
    """Shut down as the protocol says: close stdin, then SIGTERM, then SIGKILL, to the whole group.

    What left the group is killed at the end. It is looked for before each step, while the server still runs.
    """
    family = with_descendants(family)
    if process.stdin:
        with suppress(*_BROKEN, OSError):
            await process.stdin.aclose()
    sigkill = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL
    for how in (sigkill,) if at_once else (None, signal.SIGTERM, sigkill):
        if how is not None:
            family = with_descendants(family)
            _signal_process(process, how)
        with anyio.move_on_after(_GRACE):
            await process.wait()
            break
    _signal_process(process, sigkill)  # children that outlive the server
    kill(with_descendants(family))


def _signal_process(process: Process, how: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, how)


def _exit_words(status: int) -> str:
    if status >= 0:
        return f"it ended with exit code {status}"
    with suppress(ValueError):  # a real-time signal has no name
        return f"it was ended by {signal.Signals(-status).name}"
    return f"it was ended by signal {-status}"


_TIMEOUT: Final = httpx2.Timeout(30.0, read=None)
"""No read timeout: the host enforces the deadline of a call."""
_REJECTED: Final = frozenset({400, 404, 410})
"""Statuses of a request that was not run."""


# Any: the SDK names the type of a pair of streams in a private module only.
@asynccontextmanager
async def http_transport(server: HttpServer) -> AsyncGenerator[Any]:
    """Connect to a server; end its session when the context exits.

    :raises httpx2.HTTPError: in a group, if the server cannot be reached
    """
    limit = server.settings.max_message_bytes

    async def bound(response: httpx2.Response) -> None:
        await _limit_body(response, limit)

    # Uncompressed, so that the limit applies to the bytes that are parsed.
    headers = {"accept-encoding": "identity", **server.headers}
    client = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, event_hooks={"response": [bound]})
    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


async def _limit_body(response: httpx2.Response, limit: int) -> None:
    """Limit a body that the SDK reads as a whole; replace an unusable one by an error with the reason."""
    request = response.request
    if request.method != "POST":
        return
    request_id = json.loads(request.content).get("id")  # written by the SDK
    stream = cast("httpx2.AsyncByteStream", response.stream)
    body = _Body(stream, limit, request_id)
    refusal: types.JSONRPCError | None = None
    if "content-encoding" in response.headers:
        why = "its answer is compressed, although the request ruled that out"
        refusal = replacing_error(request_id, types.CONNECTION_CLOSED, why)
    elif response.is_error:
        # The SDK itself reads a JSON-RPC error. Servers reject a session that they do not know with 404, as
        # the protocol says, or with 400, as the examples of the TypeScript SDK do.
        content = b"".join([chunk async for chunk in body])
        unknown = response.status_code == 404 or b"session" in content.lower()
        if MCP_SESSION_ID in request.headers and unknown and response.status_code in _REJECTED:
            refusal = replacing_error(request_id, SESSION_FORGOTTEN, "it has forgotten the session")
        elif not _has_type(response, "application/json"):
            why = f"it answered with HTTP status {response.status_code}"
            refusal = replacing_error(request_id, types.CONNECTION_CLOSED, why)
        response.stream = httpx2.ByteStream(content)
    elif not _has_type(response, "text/event-stream"):
        response.stream = body
    if refusal:
        # Not response.aclose(), after which the new body could not be read either.
        await stream.aclose()
        response.headers.pop("content-encoding", None)
        response.headers["content-type"] = "application/json"
        response.stream = httpx2.ByteStream(_encode_message(refusal))


def _has_type(response: httpx2.Response, media_type: str) -> bool:
    return response.headers.get("content-type", "").lower().startswith(media_type)


def _encode_message(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


class _Body(httpx2.AsyncByteStream):
    """A body with a limit; if it exceeds the limit, an error replaces it."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: int, request_id: types.RequestId | None
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._request_id = request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._stream:
            body += chunk
            if len(body) > self._limit:
                body = bytearray(_encode_message(too_large_error(self._request_id)))
                break
        # Passed on at the end only, because the SDK parses the body as a whole anyway.
        yield self._with_request_id(bytes(body))

    def _with_request_id(self, body: bytes) -> bytes:
        """The body, with the id of its request: the SDK waits for the same one, of the same type."""
        with suppress(ValueError):
            message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
            if getattr(message, "id", None) != self._request_id:
                return _encode_message(message.model_copy(update={"id": self._request_id}))
        return body

    async def aclose(self) -> None:
        await self._stream.aclose()
