"""One exchange with a server, without I/O: its deadline, and how many bytes may arrive.

Each byte that a server sends resets the read timeout of an HTTP client, and a client skips what means nothing
(``100 Continue``, chunk extensions) without a word. So an exchange also has limits as a whole.
"""

from __future__ import annotations

import time
from typing import Final

from toolreel._driver.clock.time_left import time_left

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
