"""The endpoint from a cassette, with no HTTP library in between: the events are those that one would give.

For replaying many runs, and for drivers of your own. On an async driver it is an
:class:`~toolreel._driver.sync_as_async.ImmediateEndpoint`, since it never waits.
"""

from __future__ import annotations

from typing import Final

from toolreel._driver.ports import Listener
from toolreel._replay.replayer import CHAT
from toolreel.cassette._failures import Break
from toolreel.cassette._responses import is_stream, pieces_of, refuse_unreadable
from toolreel.cassette._tape import Recording, StoredResponse
from toolreel.http._bounded_body import TooLarge, UndecodableBody
from toolreel.http._exchange import MAX_RESPONSE_BYTES, answered, broken
from toolreel.http._response import Intake
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._protocol.outcome import FailureKind

__all__ = ["TapedEndpoint"]

_KINDS: Final[dict[str, FailureKind]] = {
    "ConnectError": "connect",
    "ConnectTimeout": "connect",
    "PoolTimeout": "timeout",
    "ReadTimeout": "timeout",
    "TimeoutException": "timeout",
    "WriteTimeout": "timeout",
}
"""What exceptions of httpx are to a run; every other one is ``broken``."""


class TapedEndpoint:
    """Answers requests from a recording.

    :param max_response_bytes: as in the run that was recorded
    :param on_delta: is shown each piece of a reply
    """

    def __init__(
        self,
        recording: Recording,
        *,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        on_delta: Listener | None = None,
    ) -> None:
        self._recording = recording
        self._intake = Intake(max_response_bytes, float("inf"), on_delta, float)  # on which no time passes
        self._at_once = -1 if on_delta else max_response_bytes
        """Bytes up to which a body need not be taken in piece by piece, if nobody listens."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """What came of the request when it was recorded.

        :raises toolreel.ReplayMismatch: if it was not
        """
        stored = self._recording.play("POST", CHAT, *effect.request.pieces())
        return _broke(effect.ref, stored) if isinstance(stored, Break) else self._read(effect, stored)

    def _read(self, effect: SendRequest, stored: StoredResponse) -> ReplyReceived | RequestFailed:
        headers = _headers(stored)
        encoded, streamed = "content-encoding" in headers, is_stream(stored)
        if not (encoded or streamed or stored.broke) and len(stored.body) <= self._at_once:
            return answered(effect.ref, stored.status, headers, stored.body)
        if encoded:
            refuse_unreadable(stored, self._recording.path)
        try:
            incoming = self._intake.of(effect, stored.status, headers)
            for piece in pieces_of(stored):
                incoming.take(piece)
                if incoming.over:
                    return incoming.answered()
            return incoming.answered() if stored.broke is None else _broke(effect.ref, stored.broke)
        except (TooLarge, UndecodableBody) as error:
            return broken(effect.ref, stored.status, error)


def _headers(stored: StoredResponse) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, value in stored.headers:
        told[name] = f"{told[name]}, {value}" if name in told else value
    return told


def _broke(ref: int, broke: Break) -> RequestFailed:
    told = f"{broke.kind}: {broke.message}" if broke.message else broke.kind
    return RequestFailed(ref, _KINDS.get(broke.kind, "broken"), told)
