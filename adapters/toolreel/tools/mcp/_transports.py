"""Bounded transports to an MCP server: in a child process, and over streamable HTTP.

The SDK's own stdio transport buffers lines of any length, parses every line, writes stderr to a file and does
not report how the process ended. Its HTTP transport limits the events of a stream, but reads a JSON response
of any size and drops the status of an error.
"""

from __future__ import annotations

import codecs
import json
import re
import shutil
import signal
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from subprocess import PIPE
from typing import Any, TypeAlias, cast

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import ClientSession, types
from mcp.client import IncomingMessage
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage

from toolreel._internal import AdapterError
from toolreel.tools import SIGKILL, describe_exit, kill_descendants, running_descendants, signal_group
from toolreel.tools.mcp._config_file import HttpServer, McpServer, StdioServer
from toolreel_core._jsontext import Json, read_json_with_non_finite, without_non_finite_numbers

# Error codes of our own, outside the range that JSON-RPC reserves.
TOO_LARGE = -1_000_001
_TOO_LARGE_WORDS = "its answer exceeds the limit"
SESSION_FORGOTTEN = -1_000_002
"""The server does not know the session, and has not run the request."""
UNREADABLE = -1_000_003
"""The server sent what is meant as a response, and is not one."""


class ServerUnreachable(AdapterError):
    """A server cannot be started or reached; the text is the reason, without the server's name."""


class McpConnection:
    """A connection to a server, and why it ended; only the first reason is kept."""

    session: ClientSession

    def __init__(self) -> None:
        self.stale = True
        """The tools must be listed: the connection is new, or the server announced a change."""
        self.listing = anyio.Lock()
        self.calls = 0
        self.forgotten = False
        """The server has forgotten the session: new calls need another connection."""
        self.why = ""
        self.stderr = ""
        """The last output of the server's process to stderr."""
        self.requested = False
        """We asked for the end, so it is not reported."""
        self.over = anyio.Event()
        """Set when the connection shall close, or is closed."""
        self.explained = anyio.Event()

    async def on_message(self, message: IncomingMessage) -> None:
        """Mark the tools as stale: protocol versions before 2026-07-28 send changes unsolicited."""
        if isinstance(message, types.ToolListChangedNotification):
            self.stale = True

    def end_because(self, why: str) -> None:
        """End the connection, and keep the reason if it is the first: later ones are consequences."""
        self.why = self.why or why
        self.over.set()
        self.explained.set()

    def __str__(self) -> str:
        last = self.stderr.strip()
        return f"{self.why}; end of its stderr:\n{last}" if last else self.why


# Any: the SDK names the type of a pair of streams in a private module only.
def open_transport(server: McpServer, link: McpConnection) -> AbstractAsyncContextManager[Any]:
    """Connect to a server; end its process or its session when the context exits.

    :raises ServerUnreachable: if it cannot be started; httpx2's errors in a group, if it cannot be reached
    """
    return _open_stdio(server, link) if isinstance(server, StdioServer) else _open_http(server)


def error_response(request_id: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    """In place of a response that cannot be used, so that only its request fails."""
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


_STDERR_TAIL = 4096
"""Bytes kept of what a server writes to stderr."""
_MAX_NOISE_RATIO = 8
"""Maximum of other output before a server is killed, as a multiple of the message limit."""
_GRACE = 1.0
"""Seconds for a process to exit after its stdin closes, and again after SIGTERM."""
_QUEUE = 100
"""Length of the queue for a server that does not read. Without a queue, a call would exceed its deadline: the
SDK blocks until the server has read the notification of the cancellation, up to five seconds."""
_EDGE_BYTES = 512
"""Bytes kept of each end of an oversized line."""
_SAMPLE = 80
"""Bytes of an unreadable line that its error shows."""

# A line that is meant as a message, as the first line of one that is wrapped, or as a batch of them, which
# the protocol dropped in 2025-06-18.
_MESSAGE = re.compile(rb'\[?\s*\{.*"(?:jsonrpc|id)"|"jsonrpc"\s*:', re.DOTALL)
# The id of a response, before or after its result. Anchored to the ends of the line, so that an id inside
# the result does not match.
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
# The SDK numbers requests; some servers send the number back as a text.
_ID = rb'"id"\s*:\s*"?(\d{1,15})"?'
_FIRST = re.compile(rb"^\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*$")

_BROKEN = (
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)

_Messages: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]


@asynccontextmanager
async def _open_stdio(
    server: StdioServer, link: McpConnection
) -> AsyncGenerator[tuple[_Messages, MemoryObjectSendStream[SessionMessage]]]:
    """Start a server; on leaving the context, end it and all processes that it started."""
    process = await _start_process(server)
    family = running_descendants({process.pid: None})
    pipes = process.stdin, process.stdout, process.stderr
    stdin, stdout, stderr = cast("tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]", pipes)
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](_QUEUE)
    talk = _StdioMessages(process, server.settings.max_message_bytes, link)
    try:
        async with anyio.create_task_group() as group, incoming, outgoing:
            group.start_soon(talk.read_messages, stdout, to_client)
            group.start_soon(talk.write_messages, from_client, stdin)
            group.start_soon(_keep_stderr_tail, stderr, link)
            try:
                yield incoming, outgoing
            finally:
                link.requested = True
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


@dataclass(slots=True)
class _StdioMessages:
    """Messages to and from a process; other output is skipped, up to a limit."""

    process: Process
    limit: int
    link: McpConnection
    pending: set[types.RequestId] = field(default_factory=set)
    """Ids of requests without a response yet."""
    noise: int = 0
    flooded: bool = False
    """The server wrote too much output that is not a message."""

    async def write_messages(
        self, from_client: MemoryObjectReceiveStream[SessionMessage], stdin: ByteSendStream
    ) -> None:
        async with from_client:
            with suppress(*_BROKEN):
                async for outgoing in from_client:
                    if isinstance(outgoing.message, types.JSONRPCRequest):
                        self.pending.add(outgoing.message.id)
                    line = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(line.encode() + b"\n")

    async def read_messages(
        self, stdout: ByteReceiveStream, to_client: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        lines = BufferedByteReceiveStream(stdout)
        async with to_client:
            with suppress(*_BROKEN):
                while not self.flooded:
                    for message in await self._messages_of_next_line(lines):
                        await to_client.send(_bypass_sdk_checks(SessionMessage(message)))
            # Explained before the stream closes, so that a call that fails with it finds the reason.
            await self._explain_the_end()

    async def _messages_of_next_line(self, lines: BufferedByteReceiveStream) -> list[types.JSONRPCMessage]:
        """The message on the next line, if it is one; for an oversized line, errors that replace it."""
        head = tail = b""
        size = 0
        while not self.flooded:
            try:
                line = await lines.receive_until(b"\n", self.limit)
            except anyio.DelimiterNotFound:
                # The buffer has at least `limit` bytes of the line: drop them, and continue to its end.
                chunk = await lines.receive_exactly(self.limit)
                head, tail, size = head or chunk[:_EDGE_BYTES], chunk[-_EDGE_BYTES:], size + len(chunk)
                self._count_noise(len(chunk))
                continue
            if size + len(line) <= self.limit:
                return self._parse_line(line.strip().removeprefix(codecs.BOM_UTF8))
            edges = head or line[:_EDGE_BYTES], tail + line[-_EDGE_BYTES:]
            return self._errors_for_lost_answer(*edges, TOO_LARGE, _TOO_LARGE_WORDS)
        return []

    def _parse_line(self, line: bytes) -> list[types.JSONRPCMessage]:
        """The message of a line; for a response that cannot be read, errors that replace it."""
        head, tail = line[:_EDGE_BYTES], line[-_EDGE_BYTES:]
        message: types.JSONRPCMessage | None = None
        is_message = _MESSAGE.match(line) is not None
        if is_message:
            tree = (
                read_json_with_non_finite(line.decode("utf-8", "replace"))
                .map(without_non_finite_numbers)
                .value_or(None)
            )
            with suppress(TypeError, ValueError):
                whole = {"jsonrpc": "2.0", **cast("Mapping[str, Json]", tree)}
                message = types.jsonrpc_message_adapter.validate_python(whole, by_name=False)
        if message is None and is_message and b'"method"' not in head:
            why = f"its answer cannot be read: {line[:_SAMPLE].decode('utf-8', 'replace')!r}"
            return self._errors_for_lost_answer(head, tail, UNREADABLE, why)
        if message is None:
            self._count_noise(len(line) + 1)
            return []
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            # Without an id, the server could not read which request it was.
            answered = {*self.pending} if message.id is None else {coerce_request_id(message.id)}
            self.pending -= answered
            return [message.model_copy(update={"id": request}) for request in answered]
        return [message]

    def _errors_for_lost_answer(
        self, head: bytes, tail: bytes, code: int, why: str
    ) -> list[types.JSONRPCMessage]:
        """Errors for the request that a lost line answers; for all pending ones, if its id is unknown."""
        found = _FIRST.search(head) or _LAST.search(tail)
        request_id = int(found[1]) if found else None
        lost = {request_id} if request_id in self.pending else {*self.pending}
        self.pending -= lost
        return [error_response(each, code, why) for each in lost]

    def _count_noise(self, size: int) -> None:
        self.noise += size
        if self.noise > _MAX_NOISE_RATIO * self.limit:
            self.flooded = True
            self.link.end_because(
                f"it wrote more than {_MAX_NOISE_RATIO * self.limit} bytes that are not messages"
            )

    async def _explain_the_end(self) -> None:
        """Wait briefly for the process to exit, because its status is the best explanation."""
        if self.link.requested or self.flooded:
            return
        with anyio.move_on_after(_GRACE):
            self.link.end_because(f"it {describe_exit(await self.process.wait())}")
        self.link.end_because("it closed its output")


async def _keep_stderr_tail(stderr: ByteReceiveStream, link: McpConnection) -> None:
    tail = b""
    with suppress(*_BROKEN):
        while True:
            tail = (tail + await stderr.receive())[-_STDERR_TAIL:]
            link.stderr = tail.decode("utf-8", "replace")


async def _end_process(process: Process, family: Mapping[int, int], *, at_once: bool) -> None:
    """Shut down as the protocol says: close stdin, then SIGTERM, then SIGKILL, to the whole group.

    What left the group is killed at the end.
    """
    family = running_descendants(family)
    if process.stdin:
        with suppress(*_BROKEN, OSError):
            await process.stdin.aclose()
    for how in (SIGKILL,) if at_once else (None, signal.SIGTERM, SIGKILL):
        if how is not None:
            family = running_descendants(family)
            signal_group(process, how)
        with anyio.move_on_after(_GRACE):
            await process.wait()
            break
    signal_group(process)  # children that outlive the server
    kill_descendants(family)


_TIMEOUT = httpx2.Timeout(30.0, read=None)
"""No read timeout: the host enforces the deadline of a call."""


@asynccontextmanager
async def _open_http(server: HttpServer) -> AsyncGenerator[Any]:
    limit = server.settings.max_message_bytes

    # Uncompressed, so that the limit applies to the bytes that are parsed.
    headers = {"accept-encoding": "identity", **server.headers}
    client = httpx2.AsyncClient(
        headers=headers, timeout=_TIMEOUT, event_hooks={"response": [partial(_limit_body, limit=limit)]}
    )
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    async def pass_on(messages: AsyncIterable[SessionMessage | Exception]) -> None:
        async with to_client:
            with suppress(*_BROKEN):
                async for received in messages:
                    await to_client.send(_bypass_sdk_checks(received))

    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=limit) as streams,
        anyio.create_task_group() as group,
        incoming,
    ):
        messages, outgoing = streams
        group.start_soon(pass_on, messages)
        yield incoming, outgoing
        group.cancel_scope.cancel()


async def _limit_body(response: httpx2.Response, limit: int) -> None:
    """Limit a body that the SDK reads as a whole; replace an unusable one by an error with the reason."""
    request, kind = response.request, response.headers.get("content-type", "").lower()
    # The events of a stream have their limit from ``max_sse_event_size``.
    if request.method != "POST" or (kind.startswith("text/event-stream") and not response.is_error):
        return
    stream, status = cast("httpx2.AsyncByteStream", response.stream), response.status_code
    content = b""
    refusal: tuple[int, str] | None = None
    if response.headers.pop("content-encoding", None):
        refusal = types.CONNECTION_CLOSED, "its answer is compressed, although the request ruled that out"
    else:
        async for chunk in stream:
            content += chunk
            if len(content) > limit:
                refusal = TOO_LARGE, _TOO_LARGE_WORDS
                break
        # The SDK itself reads a JSON-RPC error. Servers reject a session that they do not know with 404, as
        # the protocol says, or with 400, as the examples of the TypeScript SDK do.
        is_rejected = status == 404 or (status in {400, 410} and b"session" in content.lower())
        if is_rejected and MCP_SESSION_ID in request.headers:
            refusal = SESSION_FORGOTTEN, "it has forgotten the session"
        elif response.is_error and not kind.startswith("application/json"):
            refusal = types.CONNECTION_CLOSED, f"it answered with HTTP status {status}"
    # Not response.aclose(), after which the new body could not be read either.
    await stream.aclose()
    if refusal is not None:
        response.headers["content-type"] = "application/json"
        request_id = json.loads(request.content).get("id")  # written by the SDK
        refused = error_response(request_id, *refusal)
        content = refused.model_dump_json(by_alias=True, exclude_unset=True).encode()
    response.stream = httpx2.ByteStream(content)


RAW = "toolreel/raw"
"""Key in ``_meta`` of a result: what the server wrote, where the SDK is shown an empty result."""


def _bypass_sdk_checks(received: SessionMessage | Exception) -> SessionMessage | Exception:
    """A message with its tools and results put past the SDK, which accepts all of a list or none."""
    if isinstance(received, SessionMessage) and isinstance(received.message, types.JSONRPCResponse):
        result = received.message.result
        raw = {**result}
        # An empty list of Go is written as null.
        if isinstance(result.get("tools", 0), list | None):
            result |= {"tools": [], "_meta": {RAW: raw}}
        elif isinstance(result.get("content"), list | None) and result.keys() & {
            "content",
            "structuredContent",
        }:
            result |= {"content": [], "structuredContent": None, "_meta": {RAW: raw}}
    return received
