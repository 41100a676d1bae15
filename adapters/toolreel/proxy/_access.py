"""The endpoints of the proxy: who may come in, and what is logged and counted of every request."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolreel._internal import log, log_error
from toolreel.proxy._chat import Done
from toolreel.proxy._client import ClientAnswer, Receive, Scope, Send, Trouble, refused
from toolreel.proxy._headers import is_foreign, shows
from toolreel.proxy._journal_queue import Tell
from toolreel.proxy._settings import ProxySettings
from toolreel_core._jsontext import Json
from toolreel_core._settings import WireForm

# Counts of what has passed, as Prometheus reads them.


_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_REQUESTS: Final = "toolreel_proxy_requests_total"
_ASKED: Final = frozenset({"plain", "streamed"})
_REPAIRS: Final = "toolreel_proxy_repairs_total"
_TOKENS: Final = "toolreel_proxy_tokens_total"
_SECONDS: Final = "toolreel_proxy_request_seconds"


class Metrics:
    """Counters of one proxy; none of them has what clients or models have said."""

    def __init__(self) -> None:
        self.under_way = 0
        """Requests that are being answered."""
        self._requests: Final[Counter[tuple[str, int]]] = Counter()
        self._repairs: Final[Counter[str]] = Counter()
        self._tokens: Final[Counter[str]] = Counter()
        self._added: Final[Counter[str]] = Counter()
        self._buckets: Final = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0

    def answered(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer.

        :param kind: ``plain``, ``streamed``, ``models``, or ``refused`` for what reached no upstream
        """
        self._requests[kind, status] += 1
        if kind not in _ASKED:  # they take no time, and would make the others look fast
            return
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds += seconds

    def repaired(self, names: tuple[str, ...], prompt_tokens: int, completion_tokens: int) -> None:
        """Count the repairs and tokens of a reply."""
        self._repairs.update(names)
        self._tokens["prompt"] += prompt_tokens
        self._tokens["completion"] += completion_tokens

    def added(self, reason: str) -> None:
        """Count a request that the proxy added."""
        self._added[reason] += 1

    def text(self) -> str:
        """The counters in the text format of Prometheus."""
        lines = [f"# TYPE {_REQUESTS} counter"]
        lines += [
            f'{_REQUESTS}{{kind="{kind}",status="{status}"}} {count}'
            for (kind, status), count in sorted(self._requests.items())
        ]
        lines += _family(_REPAIRS, "name", self._repairs)
        lines += _family("toolreel_proxy_added_requests_total", "reason", self._added)
        lines += _family(_TOKENS, "kind", self._tokens)
        lines += ["# TYPE toolreel_proxy_under_way gauge", f"toolreel_proxy_under_way {self.under_way}"]
        lines += [f"# TYPE {_SECONDS} histogram"]
        total = 0
        for limit, count in zip((*_BUCKETS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'{_SECONDS}_bucket{{le="{limit}"}} {total}')
        lines += [f"{_SECONDS}_sum {self._seconds:.6f}", f"{_SECONDS}_count {total}"]
        return "\n".join(lines) + "\n"


def _family(name: str, label: str, counts: Counter[str]) -> list[str]:
    values = [f'{name}{{{label}="{key}"}} {count}' for key, count in sorted(counts.items())]
    return [f"# TYPE {name} counter", *values]


_LEFT: Final = 499
"""The status of a request whose client left before it was told anything; nginx has it so, too."""
_FAILED: Final = Trouble(
    500, "The proxy has failed at this request; its log has the traceback.", "proxy_failed"
)


@dataclass(slots=True)
class AccessRecord:
    """What became of a request, as far as it came."""

    path: str
    kind: Literal["refused", "models", "tokens", "plain", "streamed", ""] = "refused"
    """Empty: neither logged nor counted, unless it fails."""
    model: str = ""
    conversation: str = ""
    done: Done = field(default_factory=Done)
    began: float = field(default_factory=time.monotonic)

    def entry(self, status: int, problem: str, seconds: float) -> dict[str, Json]:
        """Its entry in the log."""
        asked = self.kind in {"plain", "streamed"}
        return {
            **({} if asked else {"path": self.path}),
            "model": self.model,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "repairs": [*self.done.repairs],
            "noticed": [*self.done.noticed],
            "added": [*self.done.added],
            **({"problem": problem} if problem else {}),
            **({"conversation": self.conversation} if self.conversation else {}),
        }


Endpoint: TypeAlias = Callable[[Scope, Receive, ClientAnswer, AccessRecord], Awaitable[None]]
"""Answers one request, and says what became of it."""


def log_and_tell(tell: Tell) -> Tell:
    """Tell what happens, and log it: requests at ``debug``, and as a warning what is not recorded."""

    def logged(entry: Mapping[str, Json]) -> None:
        if entry.get("is") == "making journals":
            log("proxy", "info", "making_journals", {key: entry[key] for key in ("done", "of")})
        elif "is" in entry:  # why it is not recorded may quote what was said
            told = {key: entry[key] for key in ("conversation", "conversations", "is") if key in entry}
            log("proxy", "warning", "not_recorded", told)
        else:
            fields = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
            log("proxy", "debug", "request_answered", fields)
        tell(entry)

    return logged


class Open:
    """An endpoint for anyone."""

    def __init__(self, answer: Callable[[ClientAnswer], Awaitable[None]]) -> None:
        self._answer = answer

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self._answer(ClientAnswer(send))


class Endpoints:
    """Makes the endpoints of one proxy that log and count each of their requests."""

    def __init__(self, settings: ProxySettings, metrics: Metrics, tell: Tell) -> None:
        self.settings: Final = settings
        self.metrics: Final = metrics
        self._tell: Final = tell

    def guarded(self, answer: Endpoint, method: str, form: WireForm = "chat_completions") -> Guarded:
        """An endpoint for clients that show the token.

        :param method: the only one that it takes; empty for any
        """
        return Guarded(self, answer, method, form)

    def count(self, access: AccessRecord, answer: ClientAnswer) -> None:
        """Count a request that is over, and log it."""
        if not access.kind:
            return
        status, seconds = answer.status or _LEFT, time.monotonic() - access.began
        self.metrics.answered(access.kind, status, seconds)
        usage = access.done.reply.usage if access.done.reply else None
        self.metrics.repaired(
            access.done.repairs,
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )
        for reason in access.done.added:
            self.metrics.added(reason)
        self._tell(access.entry(status, answer.problem, seconds))


class Guarded:
    """An endpoint for clients that show the token, and for none that a page in a browser has sent here."""

    def __init__(self, endpoints: Endpoints, answer: Endpoint, method: str, form: WireForm) -> None:
        self._endpoints: Final = endpoints
        self._answer = answer
        self._method: Final = method
        self._form: Final = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the proxy speaks no WebSocket, and a server may
            await send({"type": "websocket.close", "code": 1000})
            return
        form: WireForm = "messages" if "/messages" in scope["path"] else self._form
        answer, access = ClientAnswer(send, form), AccessRecord(scope["path"])
        try:
            trouble = self._objection(scope)
            if trouble is not None:
                await answer.trouble(trouble)
            else:
                await self._answer(scope, receive, answer, access)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error that it can read
            access.kind = access.kind or "refused"
            log_error("proxy", "a request failed", {"path": access.path, "model": access.model}, error)
            await answer.trouble(_FAILED)
        finally:
            self._endpoints.count(access, answer)

    def _objection(self, scope: Scope) -> Trouble | None:
        settings = self._endpoints.settings
        if is_foreign(scope["headers"], settings.hosts):
            return refused(403, "This proxy is addressed by the name of this machine only.", "foreign_host")
        if settings.token and not shows(scope["headers"], settings.token):
            words = "Show the proxy's token: as your API key, or in the header x-toolreel-token."
            return refused(401, words, "no_token")
        if self._method and scope["method"] != self._method:
            words = f"{scope['path']} takes {self._method}, not {scope['method']}."
            return refused(405, words, "method_not_allowed", allow=self._method)
        return None
