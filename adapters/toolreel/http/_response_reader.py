"""Reads a response chunk by chunk: deadline, size limits, stall timeout, and deltas for a listener.

Each byte that a server sends resets the read timeout of an HTTP client, and a client skips what means nothing
(``100 Continue``, chunk extensions) without a word. So an exchange also has limits as a whole.

The body itself shows whether it is a stream: some servers ignore ``stream``, some stream unasked, and both
kinds may send the wrong content type (llm_wiki#619).
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from toolreel._driver import Listener, tell, time_left
from toolreel._secrets import RunningBodyScrub, scrubbed_body
from toolreel.http._bounded_decoder import BoundedDecoder, Stalled
from toolreel.http._request import DEADLINE
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest, response_event
from toolreel_core._replies import Delta, deltas_in, stream_in

_UTF8: Final = codecs.getincrementaldecoder("utf-8")
_NO_SECRETS: Final[Mapping[str, str]] = {}

HEAD_BYTES: Final = 256 * 1024
"""Maximum size of what comes before a body: the head of the response, and any 1xx responses."""

_FRAMING: Final = 1024 * 1024
"""Bytes that a response may have besides its body, and besides twice the limit of a body: a chunk of one
character takes six bytes."""

GRACE: Final = 1.0
"""Seconds after the deadline at which an exchange is given up whose connection does not observe it. Where it
does, it goes first, since only its failure gets into a recording."""

_SHORTEST: Final = 0.001
"""Seconds of a timeout at least; 0 would make a socket non-blocking."""


class Exchange:
    """The limits of one exchange, which begins now.

    :param deadline: seconds that it may take; what is left of the run's time, if that is less
    :param limit: maximum size of the body, in bytes
    """

    __slots__ = ("_allowed", "_ends_at", "_fresh", "_limit", "_received", "_sending", "message", "rested")

    def __init__(self, deadline: float, limit: int) -> None:
        left = time_left()
        seconds = min(deadline, left)
        what = "its deadline" if deadline <= left else "which is all that the run's max_wall_ms had left"
        self.message = f"the exchange was not complete after {seconds:.3g} s, {what}"
        """Why it failed, if its time is over."""
        self.rested = 0.0
        """Seconds in which nothing was read, since the reader of the stream was busy with what had come."""
        self._ends_at = time.monotonic() + seconds
        self._limit = limit
        self._received = 0
        self._allowed = HEAD_BYTES
        self._sending = False
        self._fresh = False

    @property
    def left(self) -> float:
        """Seconds until the deadline; a little more than 0 at the end."""
        return max(_SHORTEST, self._ends_at - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._ends_at

    @property
    def overdue(self) -> bool:
        """Whether the time has been over for a while, so that the connection itself does not look at it."""
        return time.monotonic() >= self._ends_at + GRACE

    def within(self, timeout: float | None) -> float:
        """A timeout in seconds, at most until the deadline."""
        left = self.left
        return left if timeout is None or timeout > left else timeout

    @property
    def unheard(self) -> bool:
        """Whether a request has gone out on a connection that was used before, and no byte has come back."""
        return self._sending and not self._fresh and not self._received

    def connect(self) -> None:
        """A connection is opened for this exchange."""
        self._fresh = True

    def await_head(self) -> None:
        """From now on, the server may send the head of a response."""
        self._received, self._allowed = 0, HEAD_BYTES
        self._sending = True

    def await_body(self) -> None:
        """From now on, the server may send the body."""
        self._received, self._allowed = 0, 2 * self._limit + _FRAMING

    def excess(self, size: int) -> str:
        """Count bytes that have arrived; why they are too many, or nothing."""
        self._received += size
        if self._received <= self._allowed:
            return ""
        if self._allowed == HEAD_BYTES:
            return f"the server sent more than {HEAD_BYTES} bytes, and no response"
        return f"the server sent more than {self._allowed} bytes for a body of at most {self._limit}"


@dataclass(frozen=True, slots=True)
class Intake:
    """Limits and listener for the responses of an endpoint."""

    limit: int
    """Maximum decoded size of a body, in bytes."""
    stall_timeout: float
    """Maximum seconds in a stream without data from the model."""
    on_delta: Listener | None
    now: Callable[[], float]
    """Monotonic clock, in seconds."""
    deadline: float = DEADLINE
    """Maximum seconds for the whole exchange."""

    def begin(self) -> Exchange:
        """The limits of an exchange that begins now."""
        return Exchange(self.deadline, self.limit)


class Incoming:
    """Reads one response.

    :param exchange: has the deadline; ``None`` for a recorded response
    :param headers: of the response; looked up in lower case
    :param secrets: what the request has sent, by name; where the server says it back, it is replaced
    :raises UndecodableBody: if the encoding of the response is not supported
    """

    def __init__(
        self,
        intake: Intake,
        exchange: Exchange | None,
        effect: SendRequest,
        status: int,
        headers: Mapping[str, str],
        secrets: Mapping[str, str] = _NO_SECRETS,
    ) -> None:
        self._intake = intake
        self._secrets = secrets
        self._scrub = RunningBodyScrub(secrets)
        self._passed: list[str] = []
        self._listener = intake.on_delta if effect.purpose == "turn" else None
        self._exchange = exchange
        self._effect = effect
        self._status = status
        self._headers = headers
        self._decoder = BoundedDecoder(headers.get("content-encoding", ""), intake.limit)
        self._text = _UTF8("replace")
        self._declared_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
        self._stream = self._blank = stream_in(effect.request.form)
        self._may_be_stream = 200 <= status < 300
        self._progressed_at = intake.now()

    @property
    def over(self) -> bool:
        """Whether the stream is complete, though the server may keep the connection open."""
        return self._stream.done

    def take(self, raw: bytes) -> tuple[Delta, ...]:
        """Read the next raw chunk, and return its deltas.

        :raises Stalled: after the deadline, or if the model has sent nothing for too long
        :raises TooLarge: as soon as the decoded body exceeds the limit
        :raises UndecodableBody: if the bytes do not fit the encoding
        """
        now = self._intake.now() - (self._exchange.rested if self._exchange else 0.0)
        if self._exchange is not None and self._exchange.overdue:
            raise Stalled(self._exchange.message)
        piece = self._decoder.feed(raw)
        if self._stream is self._blank and piece[:1] == b"{":
            self._may_be_stream = False  # a stream of events cannot start with "{", so this is plain JSON
        if not self._may_be_stream:
            return ()
        before = self._stream.progress
        deltas = self._feed(self._scrub.feed(self._text.decode(piece)))
        self._watch(now, progressed=self._stream.progress > before)
        return deltas

    def answered(self) -> tuple[tuple[Delta, ...], ReplyReceived | RequestFailed]:
        """The last deltas, and the event for the response, after its last chunk or once it is :attr:`over`.

        :raises UndecodableBody: if a compressed body is truncated
        """
        # A stream that is over may lack the end of its compression, which finish() would reject.
        body = self._decoder.body if self.over else self._decoder.finish()
        held: tuple[Delta, ...] = ()
        if self._stream.streamed:
            held = self._feed(self._scrub.feed(self._text.decode(b"", final=True)) + self._scrub.close())
            text = "".join(self._passed)
        else:
            text = scrubbed_body(body.decode("utf-8", "replace"), self._secrets)
        event = response_event(self._effect.ref, self._status, self._headers, text)
        rest = self._rest(text) if isinstance(event, ReplyReceived) and not self.over else ()
        tell(self._listener, rest)
        return (*held, *rest), event

    def _feed(self, text: str) -> tuple[Delta, ...]:
        self._passed.append(text)
        self._stream, deltas = self._stream.feed(text)
        tell(self._listener, deltas)
        return deltas

    def _watch(self, now: float, *, progressed: bool) -> None:
        if progressed:
            self._progressed_at = now
        # Before the first line is complete, only the content type says whether this is a stream.
        streams = self._declared_stream if self._stream.streamed is None else self._stream.streamed
        if streams and not self.over and now - self._progressed_at > self._intake.stall_timeout:
            raise Stalled(
                f"no meaningful data for {self._intake.stall_timeout:g} s, though the connection was alive; "
                "a longer stall_timeout gives the model more time"
            )

    def _rest(self, body: str) -> tuple[Delta, ...]:
        """The missing deltas: of an unterminated last line, or of a reply that was not streamed."""
        if self._stream.streamed:
            return self._stream.close()[1]
        return deltas_in(body, self._effect.request.form, whole=True) if self._effect.request.streamed else ()
