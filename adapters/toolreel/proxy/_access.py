"""The endpoints of the proxy: who may come in, and what is logged and counted of every request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolreel._internal import log, log_error
from toolreel.proxy._chat import Done
from toolreel.proxy._client.answer import ClientAnswer, Receive, Scope, Send
from toolreel.proxy._client.errors import Trouble, refused
from toolreel.proxy._client.headers import is_foreign, shows
from toolreel.proxy._metrics import Metrics
from toolreel.proxy._recording.journal_queue import Tell
from toolreel.proxy._settings import ProxySettings
from toolreel_core._jsontext import Json
from toolreel_core._settings import WireForm

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
