"""The endpoints of runs: one that answers from a script, one that waits its turn, and one that measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from toolreel._driver import Endpoint
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, read, read_tolerant
from toolreel_core._protocol import (
    Note,
    ReplyReceived,
    RequestFailed,
    RequestSent,
    SendRequest,
    SummaryRequested,
)
from toolreel_core._replies import as_chat, finish_of, served_in, usage_in
from toolreel_core.evals import (
    Kind,
    ScenarioScripts,
    Sent,
    SentRequest,
    scripted_reply,
    scripted_stream,
)

Sending: TypeAlias = Callable[[SendRequest], ReplyReceived | RequestFailed]


@dataclass(frozen=True, slots=True)
class SendingBy:
    """An endpoint that is one function."""

    function: Sending

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        return self.function(effect)


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


class ObservedEndpoint:
    """Measures each request that it passes on, and keeps those that were answered.

    :param asked: gets what is measured
    """

    def __init__(self, endpoint: Endpoint, now: Callable[[], float], asked: list[SentRequest]) -> None:
        self.asked = asked
        self.sent: list[Sent] = []
        self.failed: RequestFailed | None = None
        """The last request, if it failed."""
        self._endpoint = endpoint
        self._now = now
        self._turn = 1

    def note(self, note: Note) -> None:
        """Take the turn of the next request from the run's notes."""
        if isinstance(note, RequestSent | SummaryRequested):
            self._turn = note.turn

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request, and keep what came of it."""
        since = self._now()
        event = self._endpoint.send(effect)
        self.failed = event if isinstance(event, RequestFailed) else None
        self.asked.append(measured(effect, event, self._turn, round((self._now() - since) * 1000)))
        if isinstance(event, ReplyReceived):
            self.sent.append(Sent(effect.request, event.body))
        return event


def measured(
    effect: SendRequest, event: ReplyReceived | RequestFailed, turn: int = 0, ms: int = 0
) -> SentRequest:
    """One request, from what answered it."""
    if isinstance(event, RequestFailed):
        return SentRequest(turn, ms, event.status, failure=event.failure)
    whole = as_chat(event.body, effect.request.form).body
    body: Tree = as_tree(read_tolerant(whole).value_or({}) if isinstance(whole, str) else whole)
    usage, served = usage_in(body), served_in(body)
    match body.get("choices"):
        case [{"finish_reason": word}, *_]:
            finish = finish_of(word)
        case _:
            finish = finish_of(None)
    return SentRequest(
        turn,
        ms,
        event.status,
        finish=finish,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=usage.cost,
        model=served.model,
        provider=served.provider,
        fingerprint=served.fingerprint,
        request_id=served.request_id,
    )


_KEPT: Final = 20_000
"""Characters of a body that are kept."""


def error_body(event: RequestFailed) -> Json:
    """What there is to keep of the body of a failure, parsed where it is JSON."""
    text = event.body
    return (read(text).value_or(text) if len(text) <= _KEPT else text[:_KEPT]) or None
