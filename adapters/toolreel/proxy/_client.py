"""What comes from a client of the proxy and what it is answered: who may come in, bodies, errors, the log."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from toolreel._internal import Durations, log, log_error, metric_lines
from toolreel.proxy._headers import has_proxy_token, headers_for_client, is_foreign_request
from toolreel.proxy._settings import ProxySettings, Tell
from toolreel_core._client_requests import ClientRequest, Refusal, client_request
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, read_json, without_non_finite_numbers
from toolreel_core._protocol import RequestFailed
from toolreel_core._proxy import Repaired, error_body_in_form, problem_text, stream_error_event
from toolreel_core._replies import Problem, ProblemCode, Usage
from toolreel_core._settings import WireForm

OURS = "toolreel_error"
"""The type of errors that the proxy makes itself."""
UPSTREAM = "upstream_error"
"""The type of those that it makes of what the upstream does."""

NEVER_AGAIN = {"x-should-retry": "false"}
"""The openai SDKs obey it: the same request fails the same way."""

_STATUSES: Mapping[ProblemCode, int] = {"RATE_LIMITED": 429, "CONTENT_FILTER": 400}
"""A content filter rejects the same request again; Azure, too, reports that as an error of the request."""


_FAILURES = {
    "connect": (502, " cannot be reached."),
    "timeout": (504, " took too long."),
    "too_large": (502, "'s answer is too large."),
    "broken": (502, "'s answer broke off."),
}


@dataclass(eq=False)
class Trouble(Exception):
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
        own: Tree = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {**self.further, **own}


def client_error(status: int, message: str, code: str, param: str | None = None) -> Trouble:
    """An error of the client, which repeating the request does not mend."""
    return Trouble(status, message, code, "invalid_request_error", param, NEVER_AGAIN)


def upstream_error(event: RequestFailed) -> Trouble:
    if event.failure != "status":
        status, words = _FAILURES[event.failure]
        why = "unreachable" if event.failure == "connect" else event.failure
        return Trouble(status, f"The upstream{words} {event.message}", f"upstream_{why}", UPSTREAM)
    # The upstream's own error, in the documented form.
    tree = as_tree(read_json(event.body).value_or(""))
    error = as_tree(tree.get("error")) or tree
    code, kind, param = (error.get(key) for key in ("code", "type", "param"))
    return Trouble(
        event.status if event.status and 400 <= event.status < 600 else 502,
        event.message,
        str(code) if isinstance(code, str | int) and not isinstance(code, bool) else "upstream_status",
        kind if isinstance(kind, str) else UPSTREAM,
        param if isinstance(param, str) else None,
        further={
            key: value
            for key, value in as_tree(without_non_finite_numbers(error)).items()
            if key != "failed_generation"
        },
    )


def reply_problem_error(problem: Problem) -> Trouble:
    status = _STATUSES.get(problem.code, 502)
    return Trouble(status, problem_text(problem), problem.code.lower(), UPSTREAM)


_NO_HEADERS: Mapping[str, str] = {}
_KEEP_ALIVE = 5.0
"""Seconds without an event after which a comment says that the upstream is at work."""


class ClientAnswer:
    """The answer to one request, and what became of it for the log and the counters."""

    def __init__(self, send: Send, path: str, form: WireForm) -> None:
        self._send = send
        self._path = path
        self._form: WireForm = form
        self.kind: Literal["refused", "models", "plain", "streamed", ""] = "refused"
        """Empty: neither logged nor counted, unless it fails."""
        self.model = ""
        self.conversation = ""
        self.repairs: dict[str, None] = {}
        self.noticed: dict[str, None] = {}
        self.added: list[str] = []
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
        return time.monotonic() - self._began

    def log_entry(self) -> dict[str, Json]:
        return {
            **({} if self.kind in {"plain", "streamed"} else {"path": self._path}),
            "model": self.model,
            "status": self.status,
            "ms": round(self.seconds * 1000, 1),
            **self._notes(),
            **({"problem": self._problem} if self._problem else {}),
            **({"conversation": self.conversation} if self.conversation else {}),
        }

    def note_repairs_and_usage(self, reply: Repaired) -> None:
        self.repairs.update(dict.fromkeys(reply.repairs))
        self.noticed.update(dict.fromkeys(reply.noticed))
        self.usage = reply.usage

    def _notes(self) -> dict[str, list[str]]:
        return {"repairs": [*self.repairs], "noticed": [*self.noticed], "added": self.added}

    async def send_json(
        self, tree: Tree, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        await self.send_text(canonical(tree), "application/json", status, headers)

    async def send_text(
        self, text: str, kind: str, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        body = text.encode("utf-8", "replace")
        await self._start(status, {"content-length": str(len(body)), "content-type": kind, **headers})
        self._over = True
        await self._send({"type": "http.response.body", "body": body})

    async def send_event(self, tree: Tree) -> None:
        named = "" if self._form == "chat_completions" else f"event: {tree.get('type')}\n"
        self._events += 1
        await self._send_piece(f"{named}data: {canonical(tree)}\n\n")

    async def _send_piece(self, text: str) -> None:
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
            await self._send_piece(": held back until it is known whether it is a call\n\n")

    async def end_stream(self, events: Sequence[Tree]) -> None:
        """End a stream with its last events, and with what was repaired in a comment, which clients skip."""
        chat = self._form == "chat_completions"
        for event in events if chat else events[:-1]:
            await self.send_event(event)
        # Before the very last: clients stop reading there.
        await self._send_piece(f": toolreel {json.dumps(self._notes())}\n\n")
        if chat:
            await self._send_piece("data: [DONE]\n\n")
        else:
            await self.send_event(events[-1])
        await self._close()

    async def send_error(self, trouble: Trouble) -> None:
        self._problem = trouble.code
        if self._over:
            return
        if not self.status:
            body = error_body_in_form(self._form, trouble.status, trouble.error)
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


async def read_request(scope: Scope, receive: Receive, form: WireForm, most: int) -> ClientRequest | None:
    body = bytearray()
    try:
        async for piece in Request(scope, receive).stream():
            body += piece
            if len(body) > most:
                raise client_error(413, f"The request is larger than {most} bytes.", "request_too_large")
    except ClientDisconnect:
        return None
    request = client_request(bytes(body), form)
    if isinstance(request, Refusal):
        raise client_error(400, request.message, "invalid_request", request.param)
    return request


# Seconds. Prometheus' usual buckets end at 10, and long replies take minutes.
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    def __init__(self) -> None:
        self.under_way = 0
        """Requests that are being answered."""
        self._requests = Counter[tuple[str, int]]()
        self._repairs = Counter[str]()
        self._tokens = Counter[str]()
        self._added = Counter[str]()
        self._took = Durations(_BUCKETS)

    def count_answer(self, answer: ClientAnswer) -> None:
        self._requests[answer.kind, answer.status] += 1
        if answer.kind in {"plain", "streamed"}:  # the others take no time, and would make these look fast
            self._took.add(answer.seconds)
        self._repairs.update([*answer.repairs])
        self._added.update(answer.added)
        self._tokens["prompt"] += answer.usage.prompt_tokens
        self._tokens["completion"] += answer.usage.completion_tokens

    def prometheus_text(self) -> str:
        requests = (
            ({"kind": kind, "status": status}, n) for (kind, status), n in sorted(self._requests.items())
        )
        lines = [*metric_lines("toolreel_proxy_requests_total", "counter", "Requests of clients.", requests)]
        for name, label, about, counts in (
            ("repairs", "name", "Repairs of what passed.", self._repairs),
            ("added_requests", "reason", "Requests that the proxy added.", self._added),
            ("tokens", "kind", "Tokens that upstreams counted.", self._tokens),
        ):
            values = (({label: key}, count) for key, count in sorted(counts.items()))
            lines += metric_lines(f"toolreel_proxy_{name}_total", "counter", about, values)
        about = "Requests that are being answered."
        lines += metric_lines("toolreel_proxy_under_way", "gauge", about, [({}, self.under_way)])
        about = "How long requests for a reply took."
        lines += metric_lines("toolreel_proxy_request_seconds", "histogram", about, [({}, self._took)])
        return "".join(lines)


_LEFT = 499
"""The status of a request whose client left before it was told anything, as in nginx."""
_FAILED = Trouble(500, "The proxy has failed at this request; its log has the traceback.", "proxy_failed")
_STOPPED = Trouble(503, "The proxy was stopped before the answer was there.", "proxy_stopped")

RequestHandler: TypeAlias = "Callable[[Scope, Receive, ClientAnswer], Awaitable[Tree | None]]"
"""Answers one request, itself or by the tree that is returned."""


def callback_with_logging(tell: Tell) -> Tell:
    """Tell what happens, and log it: requests at ``debug``, and as a warning what is not recorded."""

    def logged(entry: Mapping[str, Json]) -> None:
        if "is" in entry:  # why it is not recorded may quote what was said
            told = {key: entry[key] for key in ("conversation", "conversations", "is") if key in entry}
            log("proxy", "warning", "not_recorded", told)
        else:
            fields = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
            log("proxy", "debug", "request_answered", fields)
        tell(entry)

    return logged


@dataclass(frozen=True, slots=True)
class Guarded:
    """An endpoint that requires the token, and refuses requests from pages of other sites.

    It logs and counts each of its requests.
    """

    settings: ProxySettings
    metrics: Metrics
    tell: Tell
    endpoint: RequestHandler
    method: str = ""
    """The only one that it takes; empty for any."""
    form: WireForm = "chat_completions"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the proxy speaks no WebSocket, but the server that runs it may
            await send({"type": "websocket.close", "code": 1000})
            return
        # Also for paths that are not here, such as /v1/messages/count_tokens: the client reads the error.
        form: WireForm = "messages" if "/messages" in scope["path"] else self.form
        answer = ClientAnswer(send, scope["path"], form)
        try:
            self._check_access(scope)
            tree = await self.endpoint(scope, receive, answer)
            if tree is not None:
                await answer.send_json(tree)
        except Trouble as trouble:
            await answer.send_error(trouble)
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            await answer.send_error(Trouble(502, str(error), "proxy_misconfigured", OURS, None, NEVER_AGAIN))
        except asyncio.CancelledError:  # by the server, which stops; uvicorn would answer a plain 500
            await answer.send_error(_STOPPED)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error that it can read
            answer.kind = answer.kind or "refused"
            log_error("proxy", "a request failed", {"path": scope["path"], "model": answer.model}, error)
            await answer.send_error(_FAILED)
        finally:
            if answer.kind:
                answer.status = answer.status or _LEFT
                self.metrics.count_answer(answer)
                self.tell(answer.log_entry())

    def _check_access(self, scope: Scope) -> None:
        headers, token = Headers(scope=scope), self.settings.token
        if is_foreign_request(headers, self.settings.hosts):
            words = "This proxy is addressed by the name of this machine only."
            raise client_error(403, words, "foreign_host")
        if token and not has_proxy_token(headers, token):
            words = "Show the proxy's token: as your API key, or in the header x-toolreel-token."
            raise client_error(401, words, "no_token")
        if self.method and scope["method"] != self.method:
            words = f"{scope['path']} takes {self.method}, not {scope['method']}."
            trouble = client_error(405, words, "method_not_allowed")
            raise replace(trouble, headers={**NEVER_AGAIN, "allow": self.method})
