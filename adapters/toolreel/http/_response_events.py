"""The event for an exception of an HTTP client.

Exceptions of common clients are recognized by the names of their packages and classes, so that none
of them is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    inside = error
    if _name_of(type(error)) in _VAGUE:
        causes = (each for each in _causes(error) if _name_of(type(each)) not in _VAGUE and _kind_of(each))
        inside = next(causes, error)
    if (kind := _kind_of(inside)) is None:
        raise error
    if (response := _response_of(error)) is not None:
        event = response_event(ref, *response)
        if isinstance(event, RequestFailed):
            return event
    name = type(inside).__name__
    return RequestFailed(ref, kind, f"{name}: {inside}" if str(inside) else name)


def _kind_of(error: BaseException) -> FailureKind | None:
    """The kind of a failure; ``None`` if it is none."""
    names = (_name_of(base).partition(".") for base in type(error).__mro__)
    return next(
        (kind for package, _, name in names if (kind := _BY_PACKAGE.get(package, {}).get(name))), None
    )


def _name_of(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exceptions inside, the nearest first: urllib's are in ``reason``, those of requests in ``args``."""
    seen, queue = {id(error)}, [error]
    while queue:
        outer = queue.pop(0)
        for each in (getattr(outer, "reason", None), *outer.args, outer.__cause__, outer.__context__):
            if isinstance(each, BaseException) and id(each) not in seen:
                seen.add(id(each))
                queue.append(each)
                yield each


def _response_of(error: BaseException) -> tuple[int, Mapping[str, str], bytes] | None:
    """Status, headers and body of the response that an exception has, in the form of its client."""
    given: Any = error
    name = _name_of(type(error))
    response = getattr(given, "response", None)
    if response is not None and not name.startswith("urllib3."):
        return response.status_code, response.headers, _body(lambda: response.content)
    if name == "urllib.HTTPError":
        return given.code, given.headers, _body(given.read)
    if name in {"aiohttp.ClientResponseError", "aiohttp.ContentTypeError"}:
        return given.status, given.headers or {}, given.message.encode()
    return None


def _body(read: Callable[[], bytes]) -> bytes:
    """The body of a response, unless it was streamed or is closed."""
    with suppress(Exception):
        return read()
    return b""
