"""What goes back to a client: one body of JSON, or an event stream that begins with its first event."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final, TypeAlias

from toolreel.proxy._client.errors import Trouble
from toolreel.proxy._client.headers import passed_back
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._proxy import broken_in, error_in
from toolreel_core._settings import WireForm

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Scope: TypeAlias = MutableMapping[str, Any]

REPAIRS: Final = "x-toolreel-repairs"
NOTICED: Final = "x-toolreel-noticed"
ADDED: Final = "x-toolreel-added"
CONVERSATION: Final = "x-toolreel-conversation"

_KEEP_ALIVE: Final = 5.0
"""Seconds without an event after which a comment says that the upstream is at work."""


class TooLong(Exception):
    """A request that is larger than allowed."""


class Gone(Exception):
    """The client has left before its request was complete."""


async def body_of(receive: Receive, limit: int) -> bytes:
    """The body of a request.

    :raises TooLong: as soon as it is larger than the limit
    :raises Gone: if the client leaves
    """
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise TooLong
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


class ClientAnswer:
    """The answer to one request."""

    def __init__(self, send: Send, form: WireForm = "chat_completions") -> None:
        self._send: Final = send
        self._form: Final = form
        self._events = 0
        self.headers: Final[dict[str, str]] = {}
        """Further headers, for as long as none have been sent."""
        self.passed: Sequence[tuple[str, str]] = ()
        """Headers of the upstream, which come after those of the proxy and never replace one."""
        self.status = 0
        """What the client was told; 0 before it was told anything."""
        self.problem = ""
        """The code of the error that the client was sent, if it was."""
        self._sent_at = time.monotonic()
        self._over = False

    async def whole(self, tree: Tree, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send a body of JSON."""
        await self.text(canonical(tree), status, "application/json", headers)

    async def text(
        self, text: str, status: int = 200, kind: str = "text/plain", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a body."""
        body = text.encode("utf-8", "replace")
        await self._start(status, {"content-length": str(len(body)), "content-type": kind, **(headers or {})})
        self._over = True
        await self._send({"type": "http.response.body", "body": body})

    async def event(self, tree: Tree) -> None:
        """Send an event of a stream, which begins with it."""
        named = "" if self._form == "chat_completions" else f"event: {tree.get('type')}\n"
        self._events += 1
        await self.raw(f"{named}data: {canonical(tree)}\n\n")

    async def raw(self, text: str) -> None:
        """Send a piece of a stream as it is."""
        if not self.status:
            await self._start(
                200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
            )
        self._sent_at = time.monotonic()
        await self._send(
            {"type": "http.response.body", "body": text.encode("utf-8", "replace"), "more_body": True}
        )

    async def still_there(self) -> None:
        """Say so if nothing was sent for a while: clients and gateways give up on a silent stream."""
        if time.monotonic() - self._sent_at > _KEEP_ALIVE:
            await self.raw(": held back until it is known whether it is a call\n\n")

    async def end(self, notes: Mapping[str, Json], events: Sequence[Tree]) -> None:
        """End a stream with its last events, and with what was repaired in a comment, which clients skip."""
        chat = self._form == "chat_completions"
        for event in events if chat else events[:-1]:
            await self.event(event)
        # Before the very last: clients stop reading there.
        await self.raw(f": toolreel {json.dumps(notes)}\n\n")
        if chat:
            await self.raw("data: [DONE]\n\n")
        else:
            await self.event(events[-1])
        await self._close()

    async def trouble(self, trouble: Trouble) -> None:
        """Send an error: as the answer, or as the last event of a stream that has begun.

        After the end of an answer, nothing can be sent any more.
        """
        self.problem = trouble.code
        if self._over:
            return
        if not self.status:
            body = error_in(self._form, trouble.status, trouble.error)
            await self.whole(body, trouble.status, trouble.headers)
            return
        self.status = trouble.status
        await self.event(broken_in(self._form, trouble.status, trouble.error, self._events))
        await self._close()

    async def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        own = {**self.headers, **headers}
        passed = (pair for pair in passed_back(self.passed) if pair[0] not in own)
        lines = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in (*own.items(), *passed)
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": lines})

    async def _close(self) -> None:
        self._over = True
        await self._send({"type": "http.response.body", "body": b""})

    async def finish(self) -> None:
        """End a stream that has said all itself."""
        if not self.status:
            await self.raw("")
        await self._close()
