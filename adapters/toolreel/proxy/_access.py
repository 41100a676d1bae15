"""Who may come in, and what is logged and counted of every request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from starlette.datastructures import Headers

from toolreel._internal import Durations, log, log_error, metric
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
from toolreel.proxy._settings import ProxySettings, Tell
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree
from toolreel_core._settings import WireForm

_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """Counters of one proxy, as Prometheus reads them; none of them has what clients or models have said."""

    def __init__(self) -> None:
        self.under_way = 0
        """Requests that are being answered."""
        self._requests: Final[Counter[tuple[str, int]]] = Counter()
        self._repairs: Final[Counter[str]] = Counter()
        self._tokens: Final[Counter[str]] = Counter()
        self._added: Final[Counter[str]] = Counter()
        self._took: Final = Durations(_BUCKETS)

    def count_answer(self, answer: ClientAnswer) -> None:
        """Count an answer, with its repairs, its tokens and the requests that the proxy added."""
        self._requests[answer.kind, answer.status] += 1
        if answer.kind in {"plain", "streamed"}:  # the others take no time, and would make these look fast
            self._took.add(answer.seconds)
        self._repairs.update([*answer.repairs])
        self._added.update(answer.added)
        self._tokens["prompt"] += answer.usage.prompt_tokens
        self._tokens["completion"] += answer.usage.completion_tokens

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

Endpoint: TypeAlias = "Callable[[Scope, Receive, ClientAnswer], Awaitable[Tree | None]]"
"""Answers one request, itself or by the tree that is returned."""


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


class Guarded:
    """An endpoint for clients that show the token, and for none that a page in a browser has sent here.

    It logs and counts each of its requests. It is no function, which Starlette would take for one of its own.

    :param method: the only one that it takes; empty for any
    """

    def __init__(
        self,
        settings: ProxySettings,
        metrics: Metrics,
        tell: Tell,
        endpoint: Endpoint,
        method: str = "",
        form: WireForm = "chat_completions",
    ) -> None:
        self._settings: Final = settings
        self._metrics: Final = metrics
        self._tell: Final = tell
        self._endpoint: Final = endpoint
        self._method: Final = method
        self._form: Final = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":  # the proxy speaks no WebSocket, and a server may
            await send({"type": "websocket.close", "code": 1000})
            return
        form: WireForm = "messages" if "/messages" in scope["path"] else self._form
        answer = ClientAnswer(send, scope["path"], form)
        try:
            self._refuse_strangers(scope)
            tree = await self._endpoint(scope, receive, answer)
            if tree is not None:
                await answer.send_json(tree)
        except Trouble as trouble:
            await answer.send_error(trouble)
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            await answer.send_error(Trouble(502, str(error), "proxy_misconfigured", OURS, None, NEVER_AGAIN))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error that it can read
            answer.kind = answer.kind or "refused"
            log_error("proxy", "a request failed", {"path": scope["path"], "model": answer.model}, error)
            await answer.send_error(_FAILED)
        finally:
            if answer.kind:
                answer.status = answer.status or _LEFT
                self._metrics.count_answer(answer)
                self._tell(answer.log_entry())

    def _refuse_strangers(self, scope: Scope) -> None:
        headers, token = Headers(scope=scope), self._settings.token
        if is_foreign(headers, self._settings.hosts):
            words = "This proxy is addressed by the name of this machine only."
            raise client_error(403, words, "foreign_host")
        if token and not shows_token(headers, token):
            words = "Show the proxy's token: as your API key, or in the header x-toolreel-token."
            raise client_error(401, words, "no_token")
        if self._method and scope["method"] != self._method:
            words = f"{scope['path']} takes {self._method}, not {scope['method']}."
            raise client_error(405, words, "method_not_allowed", allow=self._method)
