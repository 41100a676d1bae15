"""Failed exchanges in a cassette: the name and text of the httpx exception.

The interaction has a key ``error: {kind, message}``. Its ``response`` holds the part of a streamed body that
had arrived; without any response, the key is missing. vcrpy does not know failed exchanges: for them, its
dictionary has a response with status :data:`NO_RESPONSE`.
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
