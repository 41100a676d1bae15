"""Events: facts from outside, in the past tense. Their counterpart is :mod:`toolreel_core._protocol.effects`.

An event that answers an effect carries the effect's ``ref``; ``ANSWERS`` says which event answers which
effect. The core has no clock, so time comes in on events: ``at_ms`` is the number of milliseconds since
the run began, or ``None`` if the driver does not measure time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from pyrsistent import PMap, pmap

from toolreel_core._conversation import Media, Part, Said, brief_repr, parts_text, user_message
from toolreel_core._errors import ConfigError, ProtocolError
from toolreel_core._jsontext import encodable_text, read_json
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._replies import html_page_description


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and cost of the replies that a tool call got from models.

    >>> Spent(prompt_tokens=900, completion_tokens=40, cost=0.25).replies
    1

    Without a cost, the cost is unknown, and so is that of the run: it is never taken for 0.

    :raises ConfigError: if a number is negative or not finite
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """The costs that are known, in the currency of the run; ``None`` if none is."""
    cached_tokens: int = 0
    """Those of :attr:`prompt_tokens` that came from the provider's cache."""
    reasoning_tokens: int = 0
    """Those of :attr:`completion_tokens` that were spent on reasoning."""
    prompt_audio_tokens: int = 0
    completion_audio_tokens: int = 0
    priced: int = 0
    """Replies with a known cost; at least 1 if there is a cost."""
    unpriced: int = 0
    """Replies whose cost nobody knows; at least 1 if there is no cost."""
    currency: str = ""
    """That of the cost, such as ``"EUR"``; empty if nobody said. A cost in another currency than that of the
    run's price is unknown to the run."""

    def __post_init__(self) -> None:
        for name in ("cost", *_COUNTS):
            value, kinds = getattr(self, name), {int, float} if name == "cost" else {int}
            if value is not None and (type(value) not in kinds or not 0 <= value < math.inf):
                raise ConfigError(f"Spent.{name}: expected a number of at least 0, got {value!r}")
        least = "unpriced"
        if self.cost is not None:
            least = "priced"
            # 1 and 1.0 must be the same event, byte for byte.
            object.__setattr__(self, "cost", float(self.cost))
        object.__setattr__(self, least, max(1, getattr(self, least)))

    @property
    def replies(self) -> int:
        """The replies that were counted."""
        return self.priced + self.unpriced

    @property
    def known_cost(self) -> float | None:
        """The cost of all replies; ``None`` if that of one is unknown."""
        return None if self.unpriced else self.cost

    def plus(self, other: Spent, sign: Literal[1, -1] = 1) -> Spent:
        """Both together.

        >>> Spent(cost=0.5).plus(Spent(cost=0.25)).known_cost
        0.75
        """
        counts = {name: getattr(self, name) + sign * getattr(other, name) for name in _COUNTS}
        cost = (self.cost or 0.0) + sign * (other.cost or 0.0) if counts["priced"] else None
        return Spent(cost=cost, currency=self.currency if self.currency == other.currency else "", **counts)

    def minus(self, part: Spent) -> Spent | None:
        """What remains without a part of it; ``None`` if nothing does."""
        return None if self.replies == part.replies else self.plus(part, -1)

    def in_currency(self, currency: str) -> Spent:
        """The same, counted in a currency: a cost in another one is unknown."""
        if self.cost is None or self.currency in {"", currency}:
            return self
        return replace(self, cost=None, priced=0, unpriced=self.replies, currency="")


_COUNTS = tuple(field.name for field in fields(Spent) if field.name not in {"cost", "currency"})


def _clean_text_fields(event: object, *texts: str) -> None:
    """Clean the texts from outside that an event carries.

    UTF-8 cannot encode a lone surrogate (half of a UTF-16 pair), so a journal could not store the event.
    """
    for name in texts:
        object.__setattr__(event, name, encodable_text(getattr(event, name)))


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
        _clean_text_fields(self, "body")


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
        _clean_text_fields(self, "message", "body")

    def __repr__(self) -> str:
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
        _clean_text_fields(self, "output")

    def __repr__(self) -> str:
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
        _clean_text_fields(self, "reason")


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
        _clean_text_fields(self, "reason")


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
        _clean_text_fields(self, "content")
        if self.parts and self.content != parts_text(self.parts):
            raise ConfigError("content: it differs from the text of the parts; make it all the text in them")

    def __repr__(self) -> str:
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


def user_spoke_event(said: Said, at_ms: int | None = None) -> UserSpoke:
    """The event for what the user says: a text, or texts, images, audio and files in order."""
    message = user_message(said)
    return UserSpoke(message.content, at_ms, message.parts)


# A host that only moves bytes, in any language, needs to know no provider: what differs between the three
# wire forms is in ``http_request`` and here.


# Bounded, since round() raises OverflowError on the infinity that 400 digits give.
_NUMBER = r"[0-9]{1,12}(\.[0-9]+)?"
# Not strptime(), which expects the names of the process's locale.
_HTTP_DATE = r"[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_QUOTED = 300
"""Maximum characters of a provider's error message that an event quotes."""
_NO_HEADERS: PMap[str, str] = pmap()


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete HTTP response, as it arrived; it answers a ``SendRequest`` and becomes its event."""

    ref: int
    status: int
    headers: PMap[str, str] = _NO_HEADERS
    """Names in any case. Read are ``retry-after``, ``retry-after-ms``, ``date`` and ``x-should-retry``."""
    body: str = ""
    """Decompressed; for a streamed response the text of all its events."""
    at_ms: int | None = None
    """Milliseconds since the run began, if the host measures time."""


@dataclass(frozen=True, slots=True)
class HttpChunk:
    """A piece of a response that is arriving, for what can be shown of it; the ``HttpResponse`` follows."""

    ref: int
    text: str
    """Decompressed, cut anywhere between two characters."""


def response_event(
    ref: int, status: int, headers: Mapping[str, str], body: bytes | str, at_ms: int | None = None
) -> ReplyReceived | RequestFailed:
    """The event for a complete response, whichever client received it.

    >>> response_event(7, 429, {"Retry-After": "2"}, '{"error": {"message": "slow down"}}').retry_after_ms
    2000

    :param ref: of the ``SendRequest`` that it answers
    :param headers: names in any case; ``Retry-After``, ``retry-after-ms``, ``Date`` and ``x-should-retry``
        are looked at
    :param body: as it arrived, decompressed
    :param at_ms: milliseconds since the run began, if known
    :returns: ``ReplyReceived`` for a status of 2xx, else ``RequestFailed`` with the provider's message
    """
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    if 200 <= status < 300:
        return ReplyReceived(ref, status, text, at_ms)
    lower = {name.lower(): value for name, value in headers.items()}
    # OpenAI's form of an error, its common variants, else the text itself.
    match read_json(text).value_or(None):
        case (
            {"error": {"message": str() as said}}
            | {"error": str() as said}
            | {"message": str() as said}
            | {"detail": str() as said}
        ):
            said = said[:_QUOTED]
        case _:
            said = html_page_description(text) or text.strip()[:_QUOTED]
    message = f"HTTP {status}: {said or 'no text'}"
    retry = {"true": True, "false": False}.get(lower.get("x-should-retry", "").strip().lower())
    return RequestFailed(ref, "status", message, status, text, retry_after_ms(lower), at_ms, retry)


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """The server's ``retry-after-ms``, else its ``retry-after``: seconds or a date (RFC 9110, 10.2.3).

    A date is relative to the server's own ``date`` header; without one it is ignored, since clocks differ.
    """
    exact = headers.get("retry-after-ms", "").strip()  # OpenAI's and Azure's, with the other one rounded up
    if re.fullmatch(_NUMBER, exact):
        return round(float(exact))
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(_NUMBER, value):  # fractions are not in the RFC, but some providers send them
        return round(float(value) * 1000)
    then, now = _parse_http_date(value), _parse_http_date(headers.get("date", ""))
    return None if then is None or now is None else max(0, (then - now) // timedelta(milliseconds=1))


def _parse_http_date(text: str) -> datetime | None:
    """A date such as ``Sun, 06 Nov 1994 08:49:37 GMT``, the form of RFC 9110, 5.6.7."""
    found = re.fullmatch(_HTTP_DATE, text.strip())
    if found is None:
        return None
    day, year, hour, minute, second = map(int, found.group(1, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS.index(found[2]) + 1, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
