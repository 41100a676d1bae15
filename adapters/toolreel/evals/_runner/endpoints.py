"""The endpoints of runs: one that answers from a script, one that waits its turn, and one that measures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Condition
from typing import Final, cast

from toolreel._driver import Endpoint
from toolreel_core._jsontext import Json, Tree, canonical, read, read_tolerant
from toolreel_core._protocol import (
    Note,
    ReplyReceived,
    RequestFailed,
    RequestSent,
    SendRequest,
    SummaryRequested,
)
from toolreel_core._replies import as_chat, finish_of, served_in, usage_in
from toolreel_core._settings import WireForm
from toolreel_core.evals import (
    ConcurrencyLimit,
    Kind,
    ScenarioScripts,
    SentRequest,
    scripted_reply,
    scripted_stream,
)


class ScriptedEndpoint:
    """Answers the requests of one trial of a scenario; async drivers take it as an ``ImmediateEndpoint``.

    It keeps nothing, so that runs at the same time can share it.
    """

    def __init__(self, kind: Kind, scripts: ScenarioScripts) -> None:
        self._kind: Kind = kind
        self._scripts = scripts

    def send(self, effect: SendRequest) -> ReplyReceived:
        """Answer with the script's next reply."""
        # A request is an object with messages, whatever else it has.
        body = cast("Mapping[str, Sequence[Tree]]", json.loads(effect.request.body))
        reply = scripted_reply(self._scripts.of(self._kind), body["messages"], model=f"scripted:{self._kind}")
        streamed = effect.request.streamed
        return ReplyReceived(effect.ref, 200, scripted_stream(reply) if streamed else canonical(reply))


_RATE_LIMITED = 429
_SERVER_ERRORS = range(500, 600)


class SharedLimit:
    """One limiter in use by many threads.

    :param max_requests: requests that may be under way at once
    """

    def __init__(self, max_requests: int, now: Callable[[], float] = time.monotonic) -> None:
        self._limit_now = ConcurrencyLimit.of(max_requests)
        self._under_way = 0
        self._now = now
        self._free = Condition()

    def send(self, endpoint: Endpoint, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait, send a request, and adapt the limit to its answer."""
        self.enter()
        event: ReplyReceived | RequestFailed | None = None
        try:
            event = endpoint.send(effect)
            return event
        finally:
            self.leave(event)

    def enter(self) -> None:
        """Wait until one more request may go out."""
        with self._free:
            while not self._limit_now.may_send(self._under_way, self._ms()):
                closed = self._limit_now.closed_until_ms - self._ms()
                self._free.wait(closed / 1000 if closed > 0 else None)
            self._under_way += 1

    def leave(self, event: ReplyReceived | RequestFailed | None) -> None:
        """Adapt the limit to an answer; ``None`` if there is none."""
        with self._free:
            self._under_way -= 1
            self._limit_now = _after(self._limit_now, event, self._ms())
            self._free.notify_all()

    def _ms(self) -> int:
        return int(self._now() * 1000)


def _after(
    limit_now: ConcurrencyLimit, event: ReplyReceived | RequestFailed | None, now_ms: int
) -> ConcurrencyLimit:
    if isinstance(event, ReplyReceived):
        return limit_now.succeeded(now_ms)
    if event is None or event.status is None:
        return limit_now
    if event.status == _RATE_LIMITED:
        return limit_now.rate_limited(now_ms, event.retry_after_ms)
    return limit_now.server_failed(now_ms) if event.status in _SERVER_ERRORS else limit_now


class ObservedEndpoint:
    """Measures each request that it passes on."""

    def __init__(self, endpoint: Endpoint, now: Callable[[], float] = time.monotonic) -> None:
        self._endpoint = endpoint
        self._now = now
        self._turn = 1
        self.asked: list[SentRequest] = []
        self.failed: RequestFailed | None = None
        """The failure of the last request, if it failed."""

    def note(self, note: Note) -> None:
        """Take the turn of the next request from the run's notes."""
        if isinstance(note, RequestSent | SummaryRequested):
            self._turn = note.turn

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request, and keep what came of it."""
        since = self._now()
        event = self._endpoint.send(effect)
        self.failed = event if isinstance(event, RequestFailed) else None
        ms = round((self._now() - since) * 1000)
        self.asked.append(_asked_of(self._turn, ms, event, effect.request.form))
        return event


def _asked_of(turn: int, ms: int, event: ReplyReceived | RequestFailed, form: WireForm) -> SentRequest:
    """One request, from what answered it."""
    if isinstance(event, RequestFailed):
        return SentRequest(turn, ms, event.status, failure=event.failure)
    body = _tree(event.body, form)
    usage, served = usage_in(body), served_in(body)
    return SentRequest(
        turn,
        ms,
        event.status,
        finish=finish_of(_finish_word(body)),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=usage.cost,
        model=served.model,
        provider=served.provider,
        fingerprint=served.fingerprint,
        request_id=served.request_id,
    )


def _tree(body: str, form: WireForm) -> Tree:
    whole = as_chat(body, form).body
    tree = read_tolerant(whole).value_or({}) if isinstance(whole, str) else whole
    return tree if isinstance(tree, dict) else {}


def _finish_word(body: Tree) -> Json:
    match body.get("choices"):
        case [{"finish_reason": word}, *_]:
            return word
        case _:
            return None


_KEPT: Final = 20_000
"""Characters of a body that are kept."""


def error_body(event: RequestFailed) -> Json:
    """What there is to keep of the body of a failure, parsed where it is JSON."""
    text = event.body
    return (read(text).value_or(text) if len(text) <= _KEPT else text[:_KEPT]) or None
