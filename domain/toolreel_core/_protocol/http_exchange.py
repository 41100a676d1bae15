"""HTTP without I/O: the request of a ``SendRequest``, and the event for the response.

A host that only moves bytes, in any language, needs to know no provider: what differs between the three wire
forms (path, version, name of the key's header, pieces of a stream) is said here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from pyrsistent import PMap, pmap

from toolreel_core._jsontext import read
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._replies import html_page
from toolreel_core._settings import PATHS

ANTHROPIC_VERSION: Final = "2023-06-01"
"""The version of the form of Messages; the only one since (https://docs.anthropic.com/en/api/versioning)."""

_NUMBER: Final = r"[0-9]{1,12}(\.[0-9]+)?"
_QUOTED: Final = 300
"""Maximum characters of a provider's error message that an event quotes."""
_NO_HEADERS: Final[PMap[str, str]] = pmap()

KeyHeader: TypeAlias = Literal["authorization", "x-api-key"]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent over HTTP for a ``SendRequest``; only address and key are the host's."""

    method: Literal["POST"]
    path: str
    """Appended to the base URL, which usually ends in ``/v1``."""
    headers: PMap[str, str]
    """Names in lower case; none of them is a secret."""
    key_header: KeyHeader
    """Where this form has the API key: as ``authorization: Bearer KEY``, or as ``x-api-key: KEY``."""
    body: str
    """JSON text, to be sent as these characters in UTF-8."""
    streamed: bool
    """Whether the response is asked for in pieces, as Server-Sent Events."""


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


def http_request(effect: SendRequest) -> HttpRequest:
    """What is sent over HTTP for a request."""
    request = effect.request
    headers = {"content-type": "application/json", "accept": "application/json"}
    if request.form == "messages":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    key: KeyHeader = "x-api-key" if request.form == "messages" else "authorization"
    return HttpRequest("POST", PATHS[request.form], pmap(headers), key, request.body, request.streamed)


def response_event(
    ref: int, status: int, headers: Mapping[str, str], body: bytes | str, at_ms: int | None = None
) -> ReplyReceived | RequestFailed:
    """The event for a complete response, whichever client received it.

    >>> response_event(7, 429, {"Retry-After": "2"}, '{"error": {"message": "slow down"}}').retry_after_ms
    2000

    :param ref: of the ``SendRequest`` that it answers
    :param headers: names in any case; ``Retry-After``, ``retry-after-ms``, ``Date`` and
        ``x-should-retry`` are looked at
    :param body: as it arrived, decompressed
    :param at_ms: milliseconds since the run began, if known
    :returns: ``ReplyReceived`` for a status of 2xx, else ``RequestFailed`` with the provider's message
    """
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    if 200 <= status < 300:
        return ReplyReceived(ref, status, text, at_ms)
    lower = {name.lower(): value for name, value in headers.items()}
    message = f"HTTP {status}: {_error_message(text)}"
    retry = {"true": True, "false": False}.get(lower.get("x-should-retry", "").strip().lower())
    return RequestFailed(ref, "status", message, status, text, retry_after_ms(lower), at_ms, retry)


def _error_message(text: str) -> str:
    """The provider's error message in a body: OpenAI's form, its common variants, else the text itself."""
    match read(text).value_or(None):
        case {"error": {"message": str() as message}} | {"error": str() as message}:
            return message[:_QUOTED] or "no text"
        case {"message": str() as message} | {"detail": str() as message}:
            return message[:_QUOTED] or "no text"
        case _:
            return html_page(text) or text.strip()[:_QUOTED] or "no text"


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """The server's ``retry-after-ms``, else its ``retry-after``: seconds or a date (RFC 9110, 10.2.3).

    A date is relative to the server's own ``date`` header; without one it is ignored, since clocks differ.

    >>> retry_after_ms({"retry-after": "1.5"})
    1500
    """
    exact = headers.get("retry-after-ms", "").strip()  # OpenAI's and Azure's, with the other one rounded up
    if re.fullmatch(_NUMBER, exact):
        return round(float(exact))
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(_NUMBER, value):  # fractions are not in the RFC, but some providers send them
        return round(float(value) * 1000)
    then, now = _http_date(value), _http_date(headers.get("date", ""))
    return None if then is None or now is None else max(0, (then - now) // timedelta(milliseconds=1))


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HTTP_DATE: Final = re.compile(
    r"\s*(?:[a-z]{3,9},\s*)?(\d{1,2})[\s-]([a-z]{3})[\s-](\d{4})\s(\d\d):(\d\d):(\d\d)\s+(?:gmt|utc|[+-]0000)\s*",
    re.ASCII | re.IGNORECASE,
)
"""``Sun, 06 Nov 1994 08:49:37 GMT``, the one form that servers may send (RFC 9110, 5.6.7) and like it."""


def _http_date(text: str) -> datetime | None:
    found = _HTTP_DATE.fullmatch(text)
    if found is None or found[2].lower() not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(found[group]) for group in (1, 3, 4, 5, 6))
    month = _MONTHS.index(found[2].lower()) + 1
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:  # no such day or time
        return None
