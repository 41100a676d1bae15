"""Events: facts from outside, in the past tense. Their counterpart is :mod:`toolreel_core._protocol.effects`.

An event that answers an effect carries the effect's ``ref``; ``ANSWERS`` says which event answers which
effect. The core has no clock, so time comes in on events: ``at_ms`` is the number of milliseconds since
the run began, or ``None`` if the driver does not measure time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from toolreel_core._conversation import Media, Part, Said, brief_repr, text_of, user_message
from toolreel_core._errors import ConfigError, ProtocolError
from toolreel_core._jsontext import sound
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._protocol.spent import Spent


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run began. :func:`toolreel.start` creates this event; drivers never send it."""


@dataclass(frozen=True, slots=True)
class ReplyReceived:
    """The endpoint answered a ``SendRequest`` with HTTP status 2xx."""

    ref: int
    status: int
    body: str
    """The unmodified response body, decoded from UTF-8; invalid bytes become U+FFFD."""
    at_ms: int | None = None
    """Milliseconds since the run began; drivers set it if the plan has ``max_wall_ms``."""

    def __post_init__(self) -> None:
        # Every text from outside is cleaned in the event that carries it. UTF-8 cannot encode a lone
        # surrogate (half of a UTF-16 pair), so a journal could not store the event. The class is frozen,
        # hence object.__setattr__.
        object.__setattr__(self, "body", sound(self.body))


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A ``SendRequest`` failed: no response arrived, or one with an HTTP error status."""

    ref: int
    failure: FailureKind
    message: str
    """The error message, for people and for notes."""
    status: int | None = None
    body: str = ""
    """The body of the error response; empty without one."""
    retry_after_ms: int | None = None
    """The server's ``Retry-After`` or ``retry-after-ms``, in milliseconds."""
    at_ms: int | None = None
    should_retry: bool | None = None
    """The server's ``x-should-retry``, as OpenAI and Anthropic send it; ``None`` without one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", sound(self.message))
        object.__setattr__(self, "body", sound(self.body))

    def __repr__(self) -> str:
        """Without ``should_retry`` where the server does not say."""
        return brief_repr(self, "should_retry")


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool call ended, successfully or not; answers ``RunTool``."""

    ref: int
    output: str
    """JSON text: an envelope (``{"ok": ...}``), an object or any other value."""
    at_ms: int | None = None
    spent: Spent | None = None
    """What the tool took of models; the tally and the limits of the run count it. It is not part of the
    output, which the model reads and in which any tool could move the limits of a run."""
    parts: tuple[Media, ...] = ()
    """What the tool gave besides JSON; the output says where each stands, by its label."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "output", sound(self.output))

    def __repr__(self) -> str:
        """Without parts where there are none."""
        return brief_repr(self, "parts")


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """A tool call was approved or denied; answers ``AskApproval``.

    :raises ProtocolError: if ``approved`` is not a ``bool``
    """

    ref: int
    approved: bool
    reason: str = ""
    """Why the call was denied; the model reads it."""
    at_ms: int | None = None

    def __post_init__(self) -> None:
        # Answers come from forms, chats and JSON, where "false" and "no" are texts, and every text is true.
        if type(self.approved) is not bool:
            raise ProtocolError(
                f"ApprovalGiven.approved is {self.approved!r}: give True to run the tool, False to deny it"
            )
        object.__setattr__(self, "reason", sound(self.reason))


@dataclass(frozen=True, slots=True)
class WaitElapsed:
    """The pause before a retry is over; answers ``Wait``."""

    ref: int
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The caller cancels the run; pending requests and calls are abandoned. Any phase accepts it."""

    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", sound(self.reason))


@dataclass(frozen=True, slots=True)
class UserSpoke:
    """The user says something: after the end, it begins the next exchange; before, it joins the next request.

    It answers no effect. Any phase but ``Idle`` accepts it.
    """

    content: str
    """The text; where there are :attr:`parts`, all text in them."""
    at_ms: int | None = None
    parts: tuple[Part, ...] = ()
    """The whole message in order, if it has more than text."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", sound(self.content))
        if self.parts and self.content != text_of(self.parts):
            raise ConfigError("content: it differs from the text of the parts; write user_spoke(parts)")

    def __repr__(self) -> str:
        """Without parts where there are none."""
        return brief_repr(self, "parts")


Event: TypeAlias = (
    RunStarted
    | ReplyReceived
    | RequestFailed
    | ToolReturned
    | ApprovalGiven
    | WaitElapsed
    | CancelRequested
    | UserSpoke
)
"""What can happen to a run."""


def user_spoke(said: Said, at_ms: int | None = None) -> UserSpoke:
    """The event for what the user says: a text, or texts, images, audio and files in order.

    >>> user_spoke(["What is ", "this?"])
    UserSpoke(content='What is this?', at_ms=None)

    :raises ConfigError: if it is neither
    """
    message = user_message(said)
    return UserSpoke(message.content, at_ms, message.parts)
