"""An endpoint that measures the requests of a run, and keeps its last failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolreel._driver.ports import Endpoint
from toolreel_core._jsontext.canonical import Json, Tree, read, read_tolerant
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._protocol.notes import Note, RequestSent, SummaryRequested
from toolreel_core._replies.classification import finish_of
from toolreel_core._replies.reply import served_in, usage_in
from toolreel_core._replies.wire_forms.as_chat import as_chat
from toolreel_core._settings.wire_form import WireForm
from toolreel_core.evals._records.record import SentRequest
from toolreel_core.evals._verdicts.failure_taxonomy import provider_hint


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


@dataclass(frozen=True, slots=True)
class LastError:
    """The last failure on the wire; without one, all is empty."""

    status: int | None = None
    body: Json = None
    """Parsed where it is JSON."""
    hint: str = ""
    retry_after_ms: int | None = None


def last_error(event: RequestFailed | None) -> LastError:
    """What there is to keep of a failure."""
    if event is None:
        return LastError()
    text = event.body
    body = (read(text).value_or(text) if len(text) <= _KEPT else text[:_KEPT]) or None
    return LastError(event.status, body, provider_hint(body), event.retry_after_ms)
