"""Exchanges that broke off, as a cassette holds them: which of httpx's exceptions ended them, and its text.

Beside the request stands ``error: {kind, message}``, and under ``response`` what had come of a streamed
body by then; an exchange that never got that far has no ``response`` at all. vcrpy knows nothing of this:
it is shown a response with the status :data:`NO_RESPONSE` in such a place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

__all__ = ["KINDS", "NO_RESPONSE", "Break", "is_unanswered", "unanswered"]

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
"""What may end an exchange: the names of ``httpx.TransportError`` and everything under it."""

NO_RESPONSE: Final = 599
"""The status that stock vcrpy is shown where there was no response; no server sends it."""


@dataclass(frozen=True, slots=True)
class Break:
    """How an exchange broke off."""

    kind: str
    """The exception's name, one of :data:`KINDS`."""
    message: str
    """Its text."""

    @classmethod
    def of(cls, error: Exception) -> Self:
        """What a cassette keeps of an exception of httpx: its nearest public class, and its text."""
        bases = (base for base in type(error).__mro__ if base.__module__ == "httpx")
        return cls(next(base.__name__ for base in bases if base.__name__ in KINDS), str(error))

    @classmethod
    def found_in(cls, response: Mapping[str, Any]) -> Self | None:
        """How the exchange broke off that stands in a cassette; ``None`` if it did not."""
        error = response.get("error")
        return cls(error["kind"], error["message"]) if error else None

    @property
    def stored(self) -> dict[str, str]:
        """What stands under ``error``."""
        return {"kind": self.kind, "message": self.message}


def unanswered(error: Mapping[str, str]) -> dict[str, Any]:
    """What vcrpy is shown of an exchange without a response."""
    status = {"code": NO_RESPONSE, "message": error["kind"]}
    return {"status": status, "headers": {}, "body": {"string": b""}, "error": dict(error)}


def is_unanswered(response: Mapping[str, Any]) -> bool:
    """Whether this is what vcrpy is shown of an exchange without a response."""
    return "error" in response and response == unanswered(response["error"])
