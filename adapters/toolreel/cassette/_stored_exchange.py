"""One exchange as a cassette stores it: the request, and the response or the failure.

The interaction of a failed exchange has a key ``error: {kind, message}`` with the name and the text of the
httpx exception. Its ``response`` holds the part of a streamed body that had arrived; without any response,
the key is missing.

An exchange that the client left early has such a key, too, with the kind :data:`CLOSED` or :data:`CANCELLED`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from toolreel._secrets import url_safe_to_log
from toolreel.cassette._lookup import request_name

ERROR_KINDS = (
    "CloseError",
    "ConnectError",
    "ConnectTimeout",
    "LocalProtocolError",
    "NetworkError",
    "PoolTimeout",
    "ProtocolError",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "TimeoutException",
    "TransportError",
    "UnsupportedProtocol",
    "WriteError",
    "WriteTimeout",
)
"""The names of ``httpx.TransportError`` and its subclasses."""

CLOSED = "ClosedByClient"
"""The client read this part of a stream, and closed it: a replay ends here."""
CANCELLED = "CancelledByClient"
"""The client was cancelled while it waited, as by a timeout around it: a replay lets it wait again."""


@dataclass(frozen=True, slots=True)
class Break:
    kind: str
    """The exception's name, one of :data:`ERROR_KINDS`; or :data:`CLOSED` or :data:`CANCELLED`."""
    message: str
    """Its text."""

    @classmethod
    def of(cls, error: Exception) -> Self:
        names = (base.__name__ for base in type(error).__mro__)
        return cls(next(name for name in names if name in ERROR_KINDS), str(error))


REQUEST_HEADERS = frozenset({"accept", "content-type"})
"""The only request headers that a cassette stores."""

_RESPONSE_HEADERS = re.compile(
    r"content-(?:disposition|encoding|language|location|range|type)|accept-ranges|allow"
    r"|age|cache-control|etag|expires|last-modified|vary"  # HTTP caches, and conditional requests
    r"|link|location|operation-location|azure-asyncoperation"  # paging, redirects, polling of Azure
    r"|x-(?:next-|prev-|per-)?page|x-total(?:-count|-pages)?|x-next-cursor"  # paging
    r"|(?:proxy|www)-authenticate|set-cookie"
    r"|.*retry.*|openai-poll-after-ms|.*rate-?limit.*"  # retries of SDKs: x-should-retry, retry-after-ms
    r"|.*request-?id|.*(?:trace|correlation)-?id|traceparent|cf-ray"
)
"""The response headers that a cassette stores, and that a replaying client sees: those by which programs
decide what to do next, and those that name a request. All others stay with the client that records."""

_NEEDS_DATE = frozenset({"age", "expires", "retry-after"})
"""Headers that mean nothing without the server's date, which is not stored otherwise."""
_LINK_TARGET = re.compile(r"<[^<>]*>")


def is_stored(header: str) -> bool:
    return _RESPONSE_HEADERS.fullmatch(header.lower()) is not None


def values_by_name(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value)
    return found


def _stored_header_value(name: str, value: str) -> str:
    """The value of a header as it is stored.

    >>> _stored_header_value("set-cookie", "session=8f14e45f; Path=/")
    'session=REDACTED; Path=/'
    >>> _stored_header_value("link", '</files?token=8f14e45f&page=2>; rel="next"')
    '</files?token=REDACTED&page=2>; rel="next"'
    """
    if name == "set-cookie":
        pair, semicolon, attributes = value.partition(";")
        key, equals, content = pair.partition("=")
        shown = "REDACTED" if content or not equals else ""  # an empty value takes a cookie away
        return f"{key if equals else ''}{equals}{shown}{semicolon}{attributes}"
    if name == "link":
        return _LINK_TARGET.sub(lambda target: f"<{url_safe_to_log(target[0][1:-1])}>", value)
    return url_safe_to_log(value) if "location" in name or name == "azure-asyncoperation" else value


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int = 0
    """0 if the exchange broke off before there was a response."""
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case; only those that :func:`is_stored` allows, once it is in a cassette."""
    body: bytes = b""
    """Decoded, unless ``headers`` name a ``content-encoding``."""
    broke: Break | None = None
    """What ended a streamed body after this part; ``None`` if it is complete."""


@dataclass(frozen=True, slots=True)
class Exchange:
    number: int = field(compare=False)
    """Counted from 1."""
    method: str
    url: str
    headers: Mapping[str, Sequence[str]]
    """Those of the request that a cassette stores, by name."""
    pieces: tuple[bytes, ...]
    """The body of the request; those of a conversation share the pieces of their common messages."""
    answer: StoredResponse

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def name(self) -> str:
        return f"interaction {self.number}"

    @property
    def request_name(self) -> str:
        return request_name(self.method, self.url)

    @property
    def broke(self) -> Break | None:
        return self.answer.broke

    def texts(self) -> Iterator[tuple[str, str]]:
        yield "request.uri", self.url
        if self.broke:
            yield "error.message", self.broke.message
        yield "response.status.message", self.answer.reason
        for part, headers in (("request", self.headers), ("response", values_by_name(self.answer.headers))):
            for name, values in headers.items():
                yield f"{part}.headers.{name}", "\n".join(f"{name}: {value}" for value in values)


def with_storable_headers(answer: StoredResponse) -> StoredResponse:
    """An answer with the headers that a cassette stores: cookies without values, URLs without secrets."""
    found = values_by_name(answer.headers)
    with_date = not _NEEDS_DATE.isdisjoint(found)
    kept = [
        (name, _stored_header_value(name, value))
        for name, values in found.items()
        if is_stored(name) or (with_date and name == "date")
        for value in values
    ]
    return replace(answer, headers=tuple(kept))
