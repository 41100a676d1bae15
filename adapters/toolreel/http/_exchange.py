"""One exchange with a chat-completions endpoint, without the I/O: what goes out, what came back.

Shared by all endpoints, whatever library carries their requests: ``http``, ``ahttp``, ``fast``, ``afast`` and
``taped``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, assert_never
from urllib.parse import SplitResult, urlsplit, urlunsplit

from toolreel._errors import EndpointConfigError
from toolreel.http._bounded_body import ACCEPT_ENCODING, Stalled, TooLarge, UndecodableBody
from toolreel_core._jsontext.canonical import read
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

__all__ = [
    "AT_ONCE",
    "DEADLINE",
    "MAX_RESPONSE_BYTES",
    "STALL_TIMEOUT",
    "Address",
    "answered",
    "blocks",
    "broken",
    "chat_url",
    "request_headers",
    "retry_after_ms",
]

MAX_RESPONSE_BYTES: Final = 32 * 1024 * 1024
"""Decoded bytes of a response that are taken in; a chat completion has a thousandth of that."""

DEADLINE: Final = 3_600.0
"""Seconds after which a response is given up even if more of it comes: every blank that a server sends resets
the timeouts of a client."""

STALL_TIMEOUT: Final = 120.0
"""Seconds after which a stream that says nothing is given up; thinking in silence takes a model that long
(future-os#431)."""

AT_ONCE: Final = 131_072
"""Bytes up to which a request's body is joined and sent in one write; a longer one is never copied as a
whole."""

_AUTHORITY: Final = re.compile(r"\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?(?://)?([^/?#]*)")
"""The part of a URL in which user and password stand, even where the scheme was forgotten."""

_VERSION: Final = re.compile(r"v\d+[a-z0-9]*")
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go, and with which key; the key never leaves this class but in a header."""

    url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Address(url={self.url!r})"

    @classmethod
    def of(cls, base_url: str, api_key_env: str | None, environ: Mapping[str, str]) -> Address:
        """The address for a base URL and the name of the variable that holds the key.

        :raises EndpointConfigError: if the URL is none, or the variable is not set
        """
        return cls(chat_url(base_url), request_headers(api_key_env, environ))


def chat_url(base_url: str) -> str:
    """Where chat completions are, for a base URL with or without its version.

    >>> chat_url("http://127.0.0.1:8080")
    'http://127.0.0.1:8080/v1/chat/completions'
    >>> chat_url("https://openrouter.ai/api/v1/")
    'https://openrouter.ai/api/v1/chat/completions'
    >>> chat_url("https://example.org/v1beta/openai")
    'https://example.org/v1beta/openai/chat/completions'
    """
    authority = _AUTHORITY.match(base_url)
    if authority and "@" in authority[1]:
        raise EndpointConfigError(
            "base URL: leave user and password out of it, name a key's variable instead"
        )
    parts = _split(base_url.strip())
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        versioned = any(_VERSION.fullmatch(segment) for segment in path.split("/"))
        path += "/chat/completions" if versioned else "/v1/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        why = "" if usable else "expected http:// or https:// and a host, such as http://127.0.0.1:8080/v1"
    except ValueError as error:
        raise EndpointConfigError(f"base URL {url!r}: {error}") from None
    if not url.isprintable() or " " in url:
        why = "it holds a space, or a character that is not printed"
    if why:
        raise EndpointConfigError(f"base URL {url!r}: {why}")
    return parts


def blocks(pieces: tuple[bytes, ...]) -> Iterator[bytes]:
    """A body in blocks that are worth a write each; a long one is never copied as a whole.

    >>> [*blocks((b"[", b"1", b"]"))]
    [b'[1]']
    """
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= AT_ONCE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def request_headers(api_key_env: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of every request."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": ACCEPT_ENCODING,
        "user-agent": "toolreel",
    }
    if api_key_env is None:
        return headers
    key = environ.get(api_key_env, "").strip()
    if not key:
        raise EndpointConfigError(
            f"the environment variable {api_key_env} is not set; put the API key into it"
        )
    if not (key.isascii() and key.isprintable()):
        raise EndpointConfigError(
            f"the environment variable {api_key_env} holds a line break or another character that no "
            "header can carry; put the API key into it, and nothing else"
        )
    return {**headers, "authorization": f"Bearer {key}"}


def answered(ref: int, status: int, headers: Mapping[str, str], body: bytes) -> ReplyReceived | RequestFailed:
    """The event for a response that came whole.

    A status outside 2xx is a failure, and its message is the provider's own where it gives one.
    """
    text = body.decode("utf-8", "replace")
    if 200 <= status < 300:
        return ReplyReceived(ref, status, text)
    told = f"HTTP {status}: {_complaint(text)}"
    return RequestFailed(ref, "status", told, status, text, retry_after_ms(headers))


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """How long the server asks to be left alone, as seconds or as a date (RFC 9110, 10.2.3).

    A date counts from the server's own ``date``; without that it says nothing, since clocks differ.

    >>> retry_after_ms({"retry-after": "1.5"})
    1500
    """
    told = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", told):
        return round(float(told) * 1000)
    try:
        then, now = parsedate_to_datetime(told), parsedate_to_datetime(headers.get("date", ""))
        return max(0, round((then - now).total_seconds() * 1000))
    except (ValueError, TypeError):
        return None


def broken(ref: int, status: int | None, error: Stalled | TooLarge | UndecodableBody) -> RequestFailed:
    """The event for a response whose body was not taken in."""
    match error:
        case Stalled():
            return RequestFailed(ref, "timeout", str(error), status)
        case TooLarge():
            return RequestFailed(ref, "too_large", str(error), status)
        case UndecodableBody():
            return RequestFailed(ref, "broken", str(error), status)
        case _:
            assert_never(error)


def _complaint(text: str) -> str:
    match read(text).value_or(None):
        case {"error": {"message": str() as message}} | {"error": str() as message}:
            return message[:_SHOWN] or "no text"
        case {"message": str() as message} | {"detail": str() as message}:
            return message[:_SHOWN] or "no text"
        case _:
            return text.strip()[:_SHOWN] or "no text"
