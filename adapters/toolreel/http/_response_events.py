"""The event for a body that an HTTP client could not read, or for its exception.

Exceptions of common clients are recognized by the names of their packages and classes, so that none
of them is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, assert_never

from toolreel.http._response_reader import Stalled, TooLarge, UndecodableBody
from toolreel_core._protocol import FailureKind, RequestFailed, response_event


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
    "requests": {
        "ConnectTimeout": "connect",
        "SSLError": "connect",
        "Timeout": "timeout",
        "RequestException": "broken",
    },
    "urllib3": {
        "ConnectTimeoutError": "connect",
        "NewConnectionError": "connect",
        "SSLError": "connect",
        "TimeoutError": "timeout",
        "HTTPError": "broken",
    },
    "aiohttp": {
        "ClientConnectorError": "connect",
        "ConnectionTimeoutError": "connect",
        "ServerTimeoutError": "timeout",
        "ClientError": "broken",
    },
    "openai": {
        "APITimeoutError": "timeout",
        "APIConnectionError": "broken",
        "APIResponseValidationError": "broken",
        "APIStatusError": "status",
    },
    "trio": {"TooSlowError": "timeout", "BrokenResourceError": "broken"},
    "anyio": {"BrokenResourceError": "broken", "EndOfStream": "broken"},
    "http": {"HTTPException": "broken"},
    "urllib": {"URLError": "broken"},
    "ssl": {"SSLCertVerificationError": "connect", "SSLError": "broken"},
    "socket": {"gaierror": "connect"},
    "asyncio": {"IncompleteReadError": "broken"},
    "builtins": {"TimeoutError": "timeout", "ConnectionRefusedError": "connect", "ConnectionError": "broken"},
}
"""The kind of failure by the package and the class of an exception; the nearest base class counts."""

_VAGUE: Final = frozenset(
    {
        "requests.ConnectTimeout",
        "requests.ConnectionError",
        "requests.SSLError",
        "urllib3.MaxRetryError",
        "urllib.URLError",
        "openai.APIConnectionError",
        "openai.APITimeoutError",
    }
)
"""What wraps other exceptions: the one inside says more, and without the URL, whose query may hold a key."""


def failure_event(ref: int, error: BaseException) -> RequestFailed:
    """The event for an exception of an HTTP client.

    Known are those of httpx, requests, urllib3, aiohttp, openai and the standard library. One that
    has a response, such as ``openai.RateLimitError``, becomes the event of that response.

    >>> failure_event(7, ConnectionRefusedError("nobody listens")).failure
    'connect'

    :param ref: of the ``SendRequest`` that failed
    :raises BaseException: the exception itself, if it is no failure of a request: a bug, or a cancellation
    """
    telling = _telling(error)
    kind = _kind_of(telling)
    if kind is None:
        raise error
    if (got := _response_of(error)) is not None:
        event = response_event(ref, *got)
        if isinstance(event, RequestFailed):
            return event
    name = type(telling).__name__
    return RequestFailed(ref, kind, f"{name}: {telling}" if str(telling) else name)


def _telling(error: BaseException) -> BaseException:
    """The exception that says what went wrong: the given one, or one inside."""
    if not _is_vague(error):
        return error
    inside = (cause for cause in _causes(error) if not _is_vague(cause) and _kind_of(cause) is not None)
    return next(inside, error)


def _kind_of(error: BaseException) -> FailureKind | None:
    """The kind of a failure; ``None`` if it is none."""
    for base in type(error).__mro__:
        kind = _BY_PACKAGE.get(_package(base), {}).get(base.__name__)
        if kind is not None:
            return kind
    return None


def _is_vague(error: BaseException) -> bool:
    return f"{_package(type(error))}.{type(error).__name__}" in _VAGUE


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exceptions inside, the nearest first: urllib's are in ``reason``, those of requests in ``args``."""
    seen, at = {id(error)}, [error]
    while at:
        outer = at.pop(0)
        inner = (getattr(outer, "reason", None), *outer.args, outer.__cause__, outer.__context__)
        for each in inner:
            if isinstance(each, BaseException) and id(each) not in seen:
                seen.add(id(each))
                at.append(each)
                yield each


def _body(read: Callable[[], bytes]) -> bytes:
    """The body of a response, unless it was streamed or is closed."""
    with suppress(Exception):
        return read()
    return b""


def _response_of(error: BaseException) -> tuple[int, Mapping[str, str], bytes] | None:
    """Status, headers and body of the response that an exception has, in the form of its client."""
    given: Any = error
    response = getattr(given, "response", None)
    if response is not None and _package(type(error)) != "urllib3":
        return response.status_code, response.headers, _body(lambda: response.content)
    match _package(type(error)), type(error).__name__:
        case "urllib", "HTTPError":
            return given.code, given.headers, _body(given.read)
        case "aiohttp", "ClientResponseError" | "ContentTypeError":
            return given.status, given.headers or {}, given.message.encode()
        case _:
            return None
