"""The event for an exception of an HTTP client.

Exceptions are recognized by the names of their packages and classes, so that no client is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from toolreel_core._protocol import FailureKind, RequestFailed, response_event

_HTTPX: Final[Mapping[str, FailureKind]] = {
    "ConnectError": "connect",
    "ConnectTimeout": "connect",
    "TimeoutException": "timeout",
    "HTTPError": "broken",
    "InvalidURL": "broken",
}
_BY_PACKAGE: Final[Mapping[str, Mapping[str, FailureKind]]] = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "http": {"HTTPException": "broken"},
    "urllib": {"URLError": "broken"},
    "ssl": {"SSLCertVerificationError": "connect", "SSLError": "broken"},
    "socket": {"gaierror": "connect"},
    "asyncio": {"IncompleteReadError": "broken"},
    "builtins": {"TimeoutError": "timeout", "ConnectionRefusedError": "connect", "ConnectionError": "broken"},
}
"""The kind of failure by the package and the class of an exception; the nearest base class counts."""


def failure_event(ref: int, error: BaseException) -> RequestFailed:
    """The event for an exception of an HTTP client.

    Known are those of httpx and the standard library. One that has a response, such as that of
    ``raise_for_status``, becomes the event of the response.

    >>> failure_event(7, ConnectionRefusedError("nobody listens")).failure
    'connect'

    :param ref: of the ``SendRequest`` that failed
    :raises BaseException: the exception itself, if it is no failure of a request: a bug, or a cancellation
    """
    given: Any = error
    reason = getattr(given, "reason", None)  # urllib.error.URLError wraps what says more
    inside = reason if isinstance(reason, BaseException) and _kind_of(reason) else error
    if (kind := _kind_of(inside)) is None:
        raise error
    response, body = getattr(given, "response", None), b""
    if response is None and _package(type(error)) == "urllib":
        response = given if hasattr(given, "read") else None
    if response is not None:
        with suppress(Exception):  # it was streamed, or is closed
            body = response.content if hasattr(response, "content") else response.read()
        status = getattr(response, "status_code", None) or response.code
        event = response_event(ref, status, response.headers, body)
        if isinstance(event, RequestFailed):
            return event
    name = type(inside).__name__
    return RequestFailed(ref, kind, f"{name}: {inside}" if str(inside) else name)


def _kind_of(error: BaseException) -> FailureKind | None:
    """The kind of a failure; ``None`` if it is none."""
    for base in type(error).__mro__:
        if kind := _BY_PACKAGE.get(_package(base), {}).get(base.__name__):
            return kind
    return None


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]
