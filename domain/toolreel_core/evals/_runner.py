"""Retries of whole runs.

A failed run is never retried, since that would inflate the pass rate. Retried are ``void`` runs, which say
nothing about the model, and runs that ended in an empty text, as the reference harness does. All attempts
are counted and recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from toolreel_core.evals._verdicts import Verdict

_TRANSIENT: Final = frozenset(
    {
        "transport.rate_limit",
        "transport.timeout",
        "transport.connection",
        "transport.upstream_5xx",
        "transport.decode",
    }
)
"""Failures that may pass; a wrong key or an empty account does not."""

_SILENT: Final = ("task.outcome", "loop.no_tool_calls", "wire.empty_response")
"""Categories of a run that ended without a text and without another explanation."""

_BASE_MS: Final = 1_000
_CAP_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a run may still be retried."""

    empties: int = 1
    """After an empty final text."""
    voids: int = 3
    """After a failure of the provider."""


def remaining_retries(verdict: Verdict, final: str, retries: Retries) -> Retries | None:
    """The remaining retries if a run is retried; ``None`` if it is not.

    >>> remaining_retries(Verdict("fail", "wire.empty_response"), "", Retries())
    Retries(empties=0, voids=3)

    :param final: the final text, which is blank where the model said nothing
    """
    if verdict.result == "void":
        again = verdict.category in _TRANSIENT and retries.voids > 0
        return replace(retries, voids=retries.voids - 1) if again else None
    silent = not final.strip() and verdict.category.startswith(_SILENT)
    if verdict.result == "fail" and silent and retries.empties > 0:
        return replace(retries, empties=retries.empties - 1)
    return None


def retry_delay_ms(failures: int, retry_after_ms: int | None) -> int:
    """Milliseconds to wait before a retry: exponential backoff, at least ``Retry-After``, at most a minute.

    >>> retry_delay_ms(1, None), retry_delay_ms(2, None), retry_delay_ms(1, 30_000)
    (1000, 2000, 30000)

    """
    return min(_CAP_MS, max(_BASE_MS << (failures - 1), retry_after_ms or 0))
