"""Events for HTTP responses: complete ones, error statuses, and bodies that could not be read.

Shared by all endpoints: the httpx ones, ``toolreel.http.fast`` and the endpoint of cassettes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final, assert_never

from toolreel.http._bounded_decoder import Stalled, TooLarge, UndecodableBody
from toolreel_core._jsontext.canonical import read
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

_QUOTED: Final = 300
"""Maximum characters of a provider's error message that an event quotes."""


def answered(ref: int, status: int, headers: Mapping[str, str], body: bytes) -> ReplyReceived | RequestFailed:
    """The event for a complete response.

    A status outside 2xx is a failure; its message is the provider's, if the body has one.
    """
    text = body.decode("utf-8", "replace")
    if 200 <= status < 300:
        return ReplyReceived(ref, status, text)
    message = f"HTTP {status}: {_error_message(text)}"
    return RequestFailed(ref, "status", message, status, text, retry_after_ms(headers))


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """The server's ``retry-after`` in milliseconds, given as seconds or as a date (RFC 9110, 10.2.3).

    A date is relative to the server's own ``date`` header; without one it is ignored, since clocks differ.

    >>> retry_after_ms({"retry-after": "1.5"})
    1500
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):  # fractions are not in the RFC, but some providers send them
        return round(float(value) * 1000)
    try:
        then, now = parsedate_to_datetime(value), parsedate_to_datetime(headers.get("date", ""))
        return max(0, round((then - now).total_seconds() * 1000))
    # TypeError: only one of the dates has a time zone; OverflowError: a year or a zone that no date can have.
    except (ValueError, TypeError, OverflowError):
        return None


def broken(ref: int, status: int | None, error: Stalled | TooLarge | UndecodableBody) -> RequestFailed:
    """The event for a response whose body could not be read."""
    match error:
        case Stalled():
            return RequestFailed(ref, "timeout", str(error), status)
        case TooLarge():
            return RequestFailed(ref, "too_large", str(error), status)
        case UndecodableBody():
            return RequestFailed(ref, "broken", str(error), status)
        case _:
            assert_never(error)


def _error_message(text: str) -> str:
    """The provider's error message in a body: OpenAI's form, its common variants, else the text itself."""
    match read(text).value_or(None):
        case {"error": {"message": str() as message}} | {"error": str() as message}:
            return message[:_QUOTED] or "no text"
        case {"message": str() as message} | {"detail": str() as message}:
            return message[:_QUOTED] or "no text"
        case _:
            return text.strip()[:_QUOTED] or "no text"
