"""An endpoint that answers from a cassette without an HTTP library; its events are those of ``HttpEndpoint``.

For replaying many runs, and for your own drivers. For an async driver, wrap it in
:class:`~toolreel._driver.performer.ImmediateEndpoint`, since it never blocks.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, cast

from toolreel._driver import Listener, ReplyPiece
from toolreel.cassette import (
    CLOSED,
    Break,
    Recording,
    StoredResponse,
    is_stream,
    pieces_of,
    refuse_unreadable,
)
from toolreel.http import (
    MAX_RESPONSE_BYTES,
    Incoming,
    Intake,
    TooLarge,
    UndecodableBody,
)
from toolreel_core._protocol import FailureKind, ReplyReceived, RequestFailed, SendRequest, response_event
from toolreel_core._replies import Delta
from toolreel_core._settings import PATHS

_KINDS: Final[dict[str, FailureKind]] = {
    "CancelledByClient": "timeout",
    "ConnectError": "connect",
    "ConnectTimeout": "connect",
    "PoolTimeout": "timeout",
    "ReadTimeout": "timeout",
    "TimeoutException": "timeout",
    "WriteTimeout": "timeout",
}
"""The failure kind for each httpx exception, and for a cancelled client; all others are ``broken``."""


class TapedEndpoint:
    """An endpoint that answers from a recording.

    :param max_response_bytes: maximum size of a response body, in bytes; give the value of the recorded run
    :param on_delta: callback for each piece of a reply
    """

    replays: Final = True
    """Its answers cost no time and no tokens, which matters when a run is measured."""

    def __init__(
        self,
        recording: Recording,
        *,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        on_delta: Listener | None = None,
    ) -> None:
        self._recording = recording
        self._intake = Intake(
            max_response_bytes, float("inf"), on_delta, float
        )  # float() is 0.0: a clock that stands still
        self._at_once = -1 if on_delta else max_response_bytes
        """Bodies up to this many bytes need not be read in pieces; none if there is a listener."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """The recorded answer to the request.

        :raises toolreel.ReplayMismatch: if the request is not in the recording
        """
        return self.answer(effect, self._stored_response(effect))

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the recorded reply, and last the event that :meth:`send` returns."""
        yield from self._reply_pieces(effect, self._stored_response(effect))

    def _stored_response(self, effect: SendRequest) -> StoredResponse | Break:
        return self._recording.play("POST", PATHS[effect.request.form], *effect.request.pieces())

    def answer(self, effect: SendRequest, stored: StoredResponse | Break) -> ReplyReceived | RequestFailed:
        """The event for a stored response, or for a stored failure."""
        if not isinstance(stored, Break):
            headers = _response_headers(stored)
            encoded, streamed = "content-encoding" in headers, is_stream(stored)
            if not (encoded or streamed or stored.broke) and len(stored.body) <= self._at_once:
                return response_event(effect.ref, stored.status, headers, stored.body)
        *_, event = self._reply_pieces(effect, stored)
        return cast("ReplyReceived | RequestFailed", event)

    def _reply_pieces(
        self, effect: SendRequest, stored: StoredResponse | Break
    ) -> Generator[ReplyPiece, None, None]:
        if isinstance(stored, Break):
            yield _failure_of_break(effect.ref, stored)
            return
        headers = _response_headers(stored)
        if "content-encoding" in headers:
            refuse_unreadable(stored, self._recording.path)
        rest: tuple[Delta, ...] = ()
        event: ReplyReceived | RequestFailed
        try:
            incoming = Incoming(self._intake, None, effect, stored.status, headers)
            for piece in pieces_of(stored):
                yield from incoming.take(piece)
                if incoming.over:
                    break
            if stored.broke is None or stored.broke.kind == CLOSED or incoming.over:
                rest, event = incoming.answered()
            else:
                event = _failure_of_break(effect.ref, stored.broke)
        except (TooLarge, UndecodableBody) as error:
            event = error.event(effect.ref, stored.status)
        yield from rest
        yield event


def _response_headers(stored: StoredResponse) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in stored.headers:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _failure_of_break(ref: int, broke: Break) -> RequestFailed:
    message = f"{broke.kind}: {broke.message}" if broke.message else broke.kind
    return RequestFailed(ref, _KINDS.get(broke.kind, "broken"), message)
