"""What pyreqwest says about a response or a failure, in our terms."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from toolreel._internal.errors import MissingExtra
from toolreel.http._exchange_limits import Exchange
from toolreel.http._response_head_checks import READ_HEADERS, UNREADABLE, fault_of_coding
from toolreel_core._protocol.events import RequestFailed
from toolreel_core._protocol.outcome import FailureKind

try:
    from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError, RequestTimeoutError
except ImportError:
    raise MissingExtra.of("fast", "pyreqwest") from None

if TYPE_CHECKING:
    from pyreqwest.response import BaseResponse

_CONNECTING: Final = "client error (Connect)"
"""The cause by which hyper-util, under reqwest, marks a failed connection."""

_MESSAGES: Final[dict[FailureKind, str]] = {
    "connect": "could not connect",
    "timeout": "timed out",
    "broken": "the exchange broke off",
}


def content_length(response: BaseResponse) -> float:
    """The length of the body in bytes; infinite if the headers do not give it.

    Also infinite for HTTP/2, which marks the end of a body separately: a client that stops before that resets
    the stream, and servers count resets.
    """
    length = _header(response, "content-length")
    has_length = response.version == "HTTP/1.1" and not _header(response, "transfer-encoding")
    return int(length) if has_length and length.isdecimal() else inf


def lost(ref: int, error: PyreqwestError, exchange: Exchange) -> RequestFailed:
    """The event for a pyreqwest exception.

    Its own message contains the URL with the query, which may hold a key, so only the last cause is quoted.
    Its classes do not tell a failed connection from a missing reply; the causes do.
    """
    causes = (error.details.get("causes") if isinstance(error, DetailedPyreqwestError) else None) or []
    messages = [cause["message"] for cause in causes]
    kind: FailureKind = "broken"
    if isinstance(error, RequestTimeoutError) and exchange.over:
        return out_of_time(ref, exchange)
    if _CONNECTING in messages:
        kind = "connect"
    elif isinstance(error, RequestTimeoutError):
        kind = "timeout"
    why = messages[-1] if len(messages) > 1 else error.message
    return RequestFailed(ref, kind, f"{_MESSAGES[kind]}: {why}")


def out_of_time(ref: int, exchange: Exchange) -> RequestFailed:
    """The event for an exchange whose deadline is over."""
    return RequestFailed(ref, "timeout", f"{_MESSAGES['timeout']}: {exchange.message}")


def headers_of(response: BaseResponse) -> dict[str, str]:
    """The headers that are read, by their names in lower case."""
    return {name: _header(response, name) for name in READ_HEADERS}


def _header(response: BaseResponse, name: str) -> str:
    try:
        return ", ".join(response.get_header_all(name))
    except ValueError:  # a byte above 127
        return UNREADABLE


def fault(response: BaseResponse) -> str:
    """What is wrong with the head of a response; empty if nothing."""
    return fault_of_coding(response.status, _header(response, "transfer-encoding"))
