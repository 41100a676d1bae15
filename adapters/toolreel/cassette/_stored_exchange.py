"""One exchange as a cassette stores it: the request, and the response or the failure.

The interaction of a failed exchange has a key ``error: {kind, message}`` with the name and the text of the
httpx exception. Its ``response`` holds the part of a streamed body that had arrived; without any response,
the key is missing. vcrpy does not know failed exchanges: for them, its dictionary has a response with status
:data:`NO_RESPONSE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

KINDS: Final = (
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

NO_RESPONSE: Final = 599
"""The status that vcrpy gets for an exchange without a response; not a registered HTTP status."""


@dataclass(frozen=True, slots=True)
class Break:
    """The exception that ended an exchange."""

    kind: str
    """The exception's name, one of :data:`KINDS`."""
    message: str
    """Its text."""

    @classmethod
    def of(cls, error: Exception) -> Self:
        """The stored form of an httpx exception: its nearest public class, and its text."""
        bases = (base for base in type(error).__mro__ if base.__module__ == "httpx")
        return cls(next(base.__name__ for base in bases if base.__name__ in KINDS), str(error))

    @classmethod
    def found_in(cls, response: Mapping[str, Any]) -> Self | None:
        """The exception in a response dictionary; ``None`` if the exchange did not fail."""
        error = response.get("error")
        return cls(error["kind"], error["message"]) if error else None

    @property
    def stored(self) -> dict[str, str]:
        """The value of ``error`` in the file."""
        return {"kind": self.kind, "message": self.message}


def unanswered(error: Mapping[str, str]) -> dict[str, Any]:
    """The response dictionary of an exchange without a response, for vcrpy."""
    status = {"code": NO_RESPONSE, "message": error["kind"]}
    return {"status": status, "headers": {}, "body": {"string": b""}, "error": dict(error)}


def is_unanswered(response: Mapping[str, Any]) -> bool:
    """Whether a response dictionary is that of an exchange without a response."""
    return "error" in response and response == unanswered(response["error"])


REQUEST_HEADERS: Final = frozenset({"accept", "content-type"})
"""The only request headers that a cassette stores."""

RESPONSE_HEADERS: Final = frozenset({"content-encoding", "content-type", "retry-after", "x-request-id"})
"""The only response headers that a cassette stores, and that a recording or replaying client sees."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response as it is stored in a cassette."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """Names in lower case; see :data:`RESPONSE_HEADERS`."""
    body: bytes
    """Decoded, unless ``headers`` name a ``content-encoding``."""
    broke: Break | None = None
    """The exception that ended a streamed body after this part; ``None`` if it is complete."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One interaction of a cassette: the request, and the response or failure."""

    number: int
    """Counted from 1."""
    method: str
    url: str
    body: bytes
    answer: StoredResponse | Break

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"interaction {self.number}"


def response_dict(response: StoredResponse) -> dict[str, Any]:
    """The response in the form of vcrpy, without headers that a cassette does not store."""
    headers: dict[str, list[str]] = {}
    for name, value in response.headers:
        if name.lower() in RESPONSE_HEADERS:
            headers.setdefault(name.lower(), []).append(value)
    status = {"code": response.status, "message": response.reason}
    error = {"error": response.broke.stored} if response.broke else {}
    return {"status": status, "headers": headers, "body": {"string": response.body}, **error}


def scrubbed(response: StoredResponse) -> StoredResponse:
    """The response as a replaying client will get it: without headers that a cassette does not store."""
    return stored_response(response_dict(response), response.broke)


def stored_answer(response: Mapping[str, Any]) -> StoredResponse | Break:
    """The answer in the form of vcrpy."""
    broke = Break.found_in(response)
    return broke if broke and is_unanswered(response) else stored_response(response, broke)


def stored_response(response: Mapping[str, Any], broke: Break | None) -> StoredResponse:
    """The response in the form of vcrpy, which may have broken off."""
    status, body = response["status"], response["body"]["string"]
    headers = [(name, value) for name, values in response["headers"].items() for value in values]
    return StoredResponse(status["code"], status["message"], tuple(headers), body, broke)
