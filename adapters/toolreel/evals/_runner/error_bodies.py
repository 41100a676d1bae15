"""What is kept of the error that a run ended with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json, read
from toolreel_core._protocol.events import RequestFailed
from toolreel_core.evals._verdicts.provider_hints import provider_hint

__all__ = ["ErrorSeen", "error_in"]

_KEPT: Final = 20_000
"""Characters of a body that are kept."""


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """The last failure on the wire; without one, all is empty."""

    status: int | None = None
    body: Json = None
    """Parsed where it is JSON."""
    hint: str = ""
    retry_after_ms: int | None = None


def error_in(event: RequestFailed | None) -> ErrorSeen:
    """What there is to keep of a failure."""
    if event is None:
        return ErrorSeen()
    body = _parsed(event.body) or None
    return ErrorSeen(event.status, body, provider_hint(body), event.retry_after_ms)


def _parsed(text: str) -> Json:
    return read(text).value_or(text) if len(text) <= _KEPT else text[:_KEPT]
