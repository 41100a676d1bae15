"""One exchange as a cassette stores it: the request, and the response or the failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolreel.cassette._recorded_failures import Break, is_unanswered

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
