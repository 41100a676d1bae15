"""What comes from a client of the proxy and what it is answered: bodies, errors."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from toolreel.proxy._headers import headers_for_client
from toolreel_core._client_requests import ClientRequest, Refusal, client_request
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, finite, read
from toolreel_core._protocol import RequestFailed
from toolreel_core._proxy import Repaired, error_in, problem_text, stream_error_event
from toolreel_core._replies import Problem, ProblemCode, Usage
from toolreel_core._settings import WireForm

# Errors as OpenAI has them, which are sent in the form of the client.


OURS: Final = "toolreel_error"
"""The type of errors that the proxy makes itself."""
UPSTREAM: Final = "upstream_error"
"""The type of those that it makes of what the upstream does."""

NEVER_AGAIN: Final = {"x-should-retry": "false"}
"""The openai SDKs obey it: the same request fails the same way."""

_STATUSES: Final[Mapping[ProblemCode, int]] = {"RATE_LIMITED": 429, "CONTENT_FILTER": 400}
"""A filter says the same again; Azure reports it as an error of the request, too."""


_FAILURES: Final[Mapping[str, tuple[int, str]]] = {
    "connect": (502, " cannot be reached."),
    "timeout": (504, " took too long."),
    "too_large": (502, "'s answer is too large."),
    "broken": (502, "'s answer broke off."),
}


@dataclass(eq=False)
class Trouble(Exception):
    """An error as the client gets it."""

    status: int
    message: str
    code: str
    type: str = OURS
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    further: Mapping[str, Json] = field(default_factory=dict)
    """What else the upstream says of it."""

    @property
    def error(self) -> Tree:
        """The error object."""
        own: Tree = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {**self.further, **own}


def client_error(
    status: int, message: str, code: str, param: str | None = None, *, allow: str = ""
) -> Trouble:
    """An error of the client, which repeating the request does not mend.

    :param allow: the method that the path takes instead
    """
    headers = {**NEVER_AGAIN, "allow": allow} if allow else NEVER_AGAIN
    return Trouble(status, message, code, "invalid_request_error", param, headers)


def upstream_error(event: RequestFailed) -> Trouble:
    """The error for a request that failed at the upstream."""
    if event.failure != "status":
        status, words = _FAILURES[event.failure]
        why = "unreachable" if event.failure == "connect" else event.failure
        return Trouble(status, f"The upstream{words} {event.message}", f"upstream_{why}", UPSTREAM)
    # The upstream's own error, in the documented form.
    tree = as_tree(read(event.body).value_or(""))
    error = as_tree(tree.get("error")) or tree
    code, kind, param = (error.get(key) for key in ("code", "type", "param"))
    return Trouble(
        event.status if event.status and 400 <= event.status < 600 else 502,
        event.message,
        str(code) if isinstance(code, str | int) and not isinstance(code, bool) else "upstream_status",
        kind if isinstance(kind, str) else UPSTREAM,
        param if isinstance(param, str) else None,
        further={key: value for key, value in as_tree(finite(error)).items() if key != "failed_generation"},
    )


def problem_error(problem: Problem) -> Trouble:
    """The error for an answer of status 200 that is no completion."""
    status = _STATUSES.get(problem.code, 502)
    return Trouble(status, problem_text(problem), problem.code.lower(), UPSTREAM)


Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Scope: TypeAlias = MutableMapping[str, Any]

_KEEP_ALIVE: Final = 5.0
"""Seconds without an event after which a comment says that the upstream is at work."""


class ClientAnswer:
    """The answer to one request, and what became of it for the log and the counters."""

    def __init__(self, send: Send, path: str, form: WireForm) -> None:
        self._send: Final = send
        self._path: Final = path
        self._form: Final = form
        self.kind: Literal["refused", "models", "plain", "streamed", ""] = "refused"
        """Empty: neither logged nor counted, unless it fails."""
        self.model = ""
        self.conversation = ""
        self.repairs: Final[dict[str, None]] = {}
        self.noticed: Final[dict[str, None]] = {}
        self.added: Final[list[str]] = []
        """Why requests were added."""
        self.usage = Usage()
        self.passed: Sequence[tuple[str, str]] = ()
        """Headers of the upstream, which come after those of the proxy and never replace one."""
        self.status = 0
        """What the client was told; 0 before it was told anything."""
        self._problem = ""
        """The code of the error that the client was sent, if it was."""
        self._events = 0
        self._began = self._sent_at = time.monotonic()
        self._over = False

    @property
    def seconds(self) -> float:
        """How long the request has taken so far."""
        return time.monotonic() - self._began

    def log_entry(self) -> dict[str, Json]:
        """The entry of the request in the log."""
        return {
            **({} if self.kind in {"plain", "streamed"} else {"path": self._path}),
            "model": self.model,
            "status": self.status,
            "ms": round(self.seconds * 1000, 1),
            **self._notes(),
            **({"problem": self._problem} if self._problem else {}),
            **({"conversation": self.conversation} if self.conversation else {}),
        }

    def add_reply(self, reply: Repaired) -> None:
        """Note what was repaired and noticed in a reply."""
        self.repairs.update(dict.fromkeys(reply.repairs))
        self.noticed.update(dict.fromkeys(reply.noticed))
        self.usage = reply.usage

    def _notes(self) -> dict[str, list[str]]:
        return {"repairs": [*self.repairs], "noticed": [*self.noticed], "added": self.added}

    async def send_json(
        self, tree: Tree, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a body of JSON."""
        await self.send_text(canonical(tree), status, "application/json", headers)

    async def send_text(
        self, text: str, status: int = 200, kind: str = "text/plain", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a body."""
        body = text.encode("utf-8", "replace")
        await self._start(status, {"content-length": str(len(body)), "content-type": kind, **(headers or {})})
        self._over = True
        await self._send({"type": "http.response.body", "body": body})

    async def send_event(self, tree: Tree) -> None:
        """Send an event of a stream, which begins with it."""
        named = "" if self._form == "chat_completions" else f"event: {tree.get('type')}\n"
        self._events += 1
        await self._piece(f"{named}data: {canonical(tree)}\n\n")

    async def _piece(self, text: str) -> None:
        if not self.status:
            await self._start(
                200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
            )
        self._sent_at = time.monotonic()
        await self._send(
            {"type": "http.response.body", "body": text.encode("utf-8", "replace"), "more_body": True}
        )

    async def send_keep_alive(self) -> None:
        """Say so if nothing was sent for a while: clients and gateways give up on a silent stream."""
        if time.monotonic() - self._sent_at > _KEEP_ALIVE:
            await self._piece(": held back until it is known whether it is a call\n\n")

    async def end_stream(self, events: Sequence[Tree]) -> None:
        """End a stream with its last events, and with what was repaired in a comment, which clients skip."""
        chat = self._form == "chat_completions"
        for event in events if chat else events[:-1]:
            await self.send_event(event)
        # Before the very last: clients stop reading there.
        await self._piece(f": toolreel {json.dumps(self._notes())}\n\n")
        if chat:
            await self._piece("data: [DONE]\n\n")
        else:
            await self.send_event(events[-1])
        await self._close()

    async def send_error(self, trouble: Trouble) -> None:
        """Send an error: as the answer, or as the last event of a stream that has begun.

        After the end of an answer, nothing can be sent any more.
        """
        self._problem = trouble.code
        if self._over:
            return
        if not self.status:
            body = error_in(self._form, trouble.status, trouble.error)
            await self.send_json(body, trouble.status, trouble.headers)
            return
        self.status = trouble.status
        await self.send_event(stream_error_event(self._form, trouble.status, trouble.error, self._events))
        await self._close()

    async def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        own = {f"x-toolreel-{key}": ",".join(names) for key, names in self._notes().items() if names}
        own |= {"x-toolreel-conversation": self.conversation} if self.conversation else {}
        own |= headers
        passed = (pair for pair in headers_for_client(self.passed) if pair[0] not in own)
        lines = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in (*own.items(), *passed)
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": lines})

    async def _close(self) -> None:
        self._over = True
        await self._send({"type": "http.response.body", "body": b""})


# Read a request of a client, within the limits of the proxy.


async def read_request(receive: Receive, form: WireForm, most: int) -> ClientRequest | None:
    """The request of a client; ``None`` if the client has left.

    :param most: bytes that it may have
    :raises Trouble: if it is none
    """
    pieces, size, more = list[bytes](), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        size, more = size + len(pieces[-1]), message.get("more_body", False)
        if size > most:
            raise client_error(413, f"The request is larger than {most} bytes.", "request_too_large")
    request = client_request(b"".join(pieces), form)
    if isinstance(request, Refusal):
        raise client_error(400, request.message, "invalid_request", request.param)
    return request
