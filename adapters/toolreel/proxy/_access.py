"""The endpoints of the proxy: who may come in, and what is logged and counted of every request."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from starlette.datastructures import Headers

from toolreel._internal import Durations, log, log_error, metric
from toolreel.proxy._chat import Done
from toolreel.proxy._client import (
    NEVER_AGAIN,
    OURS,
    ClientAnswer,
    Receive,
    Scope,
    Send,
    Trouble,
    client_error,
)
from toolreel.proxy._headers import is_foreign, shows_token
from toolreel.proxy._recorder import Tell
from toolreel.proxy._settings import ProxySettings
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree
from toolreel_core._settings import WireForm

# Counts of what has passed, as Prometheus reads them.


_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_ASKED: Final = frozenset({"plain", "streamed"})


class Metrics:
    """Counters of one proxy; none of them has what clients or models have said."""

    def __init__(self) -> None:
        self.under_way = 0
        """Requests that are being answered."""
        self._requests: Final[Counter[tuple[str, int]]] = Counter()
        self._repairs: Final[Counter[str]] = Counter()
        self._tokens: Final[Counter[str]] = Counter()
        self._added: Final[Counter[str]] = Counter()
        self._took: Final = Durations(_BUCKETS)

    def count_answer(self, kind: str, status: int, seconds: float, done: Done) -> None:
        """Count an answer, with its repairs, its tokens and the requests that the proxy added.

        :param kind: ``plain``, ``streamed``, ``models``, or ``refused`` for what reached no upstream
        """
        self._requests[kind, status] += 1
        if kind in _ASKED:  # the others take no time, and would make these look fast
            self._took.add(seconds)
        self._repairs.update([*done.repairs])
        self._added.update(done.added)
        if done.reply:
            self._tokens["prompt"] += done.reply.usage.prompt_tokens
            self._tokens["completion"] += done.reply.usage.completion_tokens

    def prometheus_text(self) -> str:
        """The counters in the text format of Prometheus."""
        requests = (
            ({"kind": kind, "status": status}, n) for (kind, status), n in sorted(self._requests.items())
        )
        lines = [*metric("toolreel_proxy_requests_total", "counter", "Requests of clients.", requests)]
        for name, label, about, counts in (
            ("repairs", "name", "Repairs of what passed.", self._repairs),
            ("added_requests", "reason", "Requests that the proxy added.", self._added),
            ("tokens", "kind", "Tokens that upstreams counted.", self._tokens),
        ):
            values = (({label: key}, count) for key, count in sorted(counts.items()))
            lines += metric(f"toolreel_proxy_{name}_total", "counter", about, values)
        about = "Requests that are being answered."
        lines += metric("toolreel_proxy_under_way", "gauge", about, [({}, self.under_way)])
        about = "How long requests for a reply took."
        lines += metric("toolreel_proxy_request_seconds", "histogram", about, [({}, self._took)])
        return "".join(lines)


_LEFT: Final = 499
"""The status of a request whose client left before it was told anything; nginx has it so, too."""
_FAILED: Final = Trouble(
    500, "The proxy has failed at this request; its log has the traceback.", "proxy_failed"
)


@dataclass(slots=True)
class AccessRecord:
    """What became of a request, as far as it came."""

    path: str
    kind: Literal["refused", "models", "plain", "streamed", ""] = "refused"
    """Empty: neither logged nor counted, unless it fails."""
    model: str = ""
    conversation: str = ""
    done: Done = field(default_factory=Done)
    began: float = field(default_factory=time.monotonic)

    def log_entry(self, status: int, problem: str, seconds: float) -> dict[str, Json]:
        """Its entry in the log."""
        asked = self.kind in {"plain", "streamed"}
        return {
            **({} if asked else {"path": self.path}),
            "model": self.model,
            "status": status,
            "ms": round(seconds * 1000, 1),
            **self.done.notes,
            **({"problem": problem} if problem else {}),
            **({"conversation": self.conversation} if self.conversation else {}),
        }


Endpoint: TypeAlias = "Callable[[Scope, Receive, ClientAnswer, AccessRecord], Awaitable[Tree | None]]"
"""Answers one request, itself or by the tree that is returned, and says what became of it."""


def log_and_tell(tell: Tell) -> Tell:
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
    """An endpoint for clients that show the token, and for none that a page in a browser has sent here.

    It logs and counts each of its requests.
    """

    settings: ProxySettings
    metrics: Metrics
    tell: Tell
    answer: Endpoint
    method: str = ""
    """The only one that it takes; empty for any."""
    form: WireForm = "chat_completions"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":  # the proxy speaks no WebSocket, and a server may
            await send({"type": "websocket.close", "code": 1000})
            return
        form: WireForm = "messages" if "/messages" in scope["path"] else self.form
        answer, access = ClientAnswer(send, form), AccessRecord(scope["path"])
        try:
            self._refuse_strangers(scope)
            tree = await self.answer(scope, receive, answer, access)
            if tree is not None:
                await answer.send_json(tree)
        except Trouble as trouble:
            await answer.send_error(trouble)
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            await answer.send_error(Trouble(502, str(error), "proxy_misconfigured", OURS, None, NEVER_AGAIN))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error that it can read
            access.kind = access.kind or "refused"
            log_error("proxy", "a request failed", {"path": access.path, "model": access.model}, error)
            await answer.send_error(_FAILED)
        finally:
            if access.kind:
                self._count(access, answer)

    def _refuse_strangers(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if is_foreign(headers, self.settings.hosts):
            raise client_error(
                403, "This proxy is addressed by the name of this machine only.", "foreign_host"
            )
        if self.settings.token and not shows_token(headers, self.settings.token):
            words = "Show the proxy's token: as your API key, or in the header x-toolreel-token."
            raise client_error(401, words, "no_token")
        if self.method and scope["method"] != self.method:
            words = f"{scope['path']} takes {self.method}, not {scope['method']}."
            raise client_error(405, words, "method_not_allowed", allow=self.method)

    def _count(self, access: AccessRecord, answer: ClientAnswer) -> None:
        """Count a request that is over, and log it."""
        status, seconds = answer.status or _LEFT, time.monotonic() - access.began
        self.metrics.count_answer(access.kind, status, seconds, access.done)
        self.tell(access.log_entry(status, answer.problem, seconds))
