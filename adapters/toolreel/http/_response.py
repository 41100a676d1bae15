"""A response as it comes in: decoded within its bound, shown piece by piece, and watched.

Shared by all endpoints. Whether a body is a stream
is told by the body itself: some servers ignore ``stream``, some stream unasked, and either may name
the wrong content type (llm_wiki#619).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from toolreel._driver.observers import tell
from toolreel._driver.ports import Listener
from toolreel.http._bounded_body import BoundedDecoder, Stalled
from toolreel.http._exchange import DEADLINE, answered
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._replies.streaming.stream import Stream, deltas_in

__all__ = ["Incoming", "Intake"]

_UTF8: Final = codecs.getincrementaldecoder("utf-8")
_BLANK: Final = Stream()


@dataclass(frozen=True, slots=True)
class Intake:
    """How responses are taken in."""

    limit: int
    """Decoded bytes after which a response is given up."""
    stall_timeout: float
    """Seconds after which a stream is given up in which the model says nothing."""
    on_delta: Listener | None
    now: Callable[[], float]
    """Seconds on a clock that never goes back."""
    deadline: float = DEADLINE
    """Seconds after which a response is given up, whatever comes."""

    def of(self, effect: SendRequest, status: int, headers: Mapping[str, str]) -> Incoming:
        """What comes in for a request.

        :param headers: of the response; they are asked for in lower case
        :raises UndecodableBody: if the encoding of the response is not supported
        """
        return Incoming(self, effect, status, headers)


class Incoming:
    """One response that is being taken in, made by :meth:`Intake.of`."""

    def __init__(self, intake: Intake, effect: SendRequest, status: int, headers: Mapping[str, str]) -> None:
        self._intake = intake
        self._effect = effect
        self._status = status
        self._headers = headers
        self._decoder = BoundedDecoder(headers.get("content-encoding", ""), intake.limit)
        self._text = _UTF8("replace")
        self._promised = headers.get("content-type", "").lower().startswith("text/event-stream")
        self._stream = _BLANK
        self._listening = 200 <= status < 300
        """Whether what comes may be a stream."""
        self._began = self._heard_at = intake.now()

    @property
    def over(self) -> bool:
        """Whether all that matters has come, though the server may keep the connection open."""
        return self._stream.done

    def take(self, raw: bytes) -> None:
        """Take in the next raw chunk.

        :raises Stalled: at the deadline, or if the model has not said anything for too long
        :raises TooLarge: as soon as the decoded body is above the limit
        :raises UndecodableBody: when the bytes do not fit the encoding
        """
        now = self._intake.now()
        if now - self._began > self._intake.deadline:
            raise Stalled(f"the response was not complete after {self._intake.deadline:g} s, its deadline")
        piece = self._decoder.feed(raw)
        if self._stream is _BLANK and piece[:1] == b"{":
            self._listening = False  # no stream begins as a JSON object does
        if not self._listening:
            return
        before = self._stream.progress
        self._stream, deltas = self._stream.feed(self._text.decode(piece))
        tell(self._intake.on_delta, deltas)
        self._watch(now, progressed=self._stream.progress > before)

    def answered(self) -> ReplyReceived | RequestFailed:
        """The event for the whole response, once no more comes or matters.

        :raises UndecodableBody: when a compressed body was cut off
        """
        body = self._decoder.body if self.over else self._decoder.finish()
        event = answered(self._effect.ref, self._status, self._headers, body)
        if isinstance(event, ReplyReceived) and not self.over:
            self._tell_rest(event.body)
        return event

    def _watch(self, now: float, *, progressed: bool) -> None:
        if progressed:
            self._heard_at = now
        streams = self._promised if self._stream.streamed is None else self._stream.streamed
        if streams and not self.over and now - self._heard_at > self._intake.stall_timeout:
            raise Stalled(
                f"no meaningful data for {self._intake.stall_timeout:g} s, though the connection was alive; "
                "a longer stall_timeout gives the model more time"
            )

    def _tell_rest(self, body: str) -> None:
        """Show what was not shown while it came: a last line without an end, or a reply that came whole."""
        if self._stream.streamed:
            tell(self._intake.on_delta, self._stream.close()[1])
        elif self._effect.request.streamed:
            tell(self._intake.on_delta, deltas_in(body, whole=True))
