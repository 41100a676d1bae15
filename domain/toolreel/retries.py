"""Which failures pass by themselves, and how long to wait for that."""

from __future__ import annotations

from typing import Final, assert_never

from toolreel.config import LoopConfig
from toolreel.digest import digest
from toolreel.events import RequestFailed

__all__ = ["delay_ms", "passing", "refuses_tools"]

_PASSING_STATUSES: Final = frozenset({408, 429, *range(500, 600)})
_REFUSALS: Final = (
    "no endpoints found that support tool use",
    "does not support tool",
    "tools are not supported",
    "tool use is not supported",
    "unsupported parameter: 'tools'",
)
"""How servers say that they take no tools, in lower case (zed-industries/zed#36094,
pydantic/pydantic-ai#2896)."""

_REFUSED_OPTION: Final = "tool_choice"
"""Sought in the message only: the body of a validation error repeats the whole request."""


def passing(failure: RequestFailed) -> bool:
    """Whether the same request may work in a moment."""
    match failure.failure:
        case "connect" | "timeout" | "broken":
            return True
        case "too_large":
            return False
        case "status":
            return failure.status in _PASSING_STATUSES
        case _:
            assert_never(failure.failure)


def refuses_tools(failure: RequestFailed) -> bool:
    """Whether the server says that it does no tools, which no retry can change."""
    if failure.failure != "status" or failure.status not in {400, 404, 422}:
        return False
    message = failure.message.lower()
    said = f"{message}\n{failure.body.lower()}"
    return _REFUSED_OPTION in message or any(refusal in said for refusal in _REFUSALS)


def delay_ms(config: LoopConfig, *, seed: int, ref: int, attempt: int, asked: int | None) -> int | None:
    """Milliseconds before the next try, or ``None`` if the server asks for more than is allowed.

    Exponential, with jitter of up to half that is drawn from the seed, so that a replay waits as long.

    >>> delay_ms(LoopConfig(), seed=1, ref=1, attempt=1, asked=None)
    803
    >>> delay_ms(LoopConfig(), seed=1, ref=1, attempt=1, asked=5_000)
    5000

    :param attempt: the try that failed, counted from 1
    :param asked: what the server's Retry-After says
    """
    if asked is not None and asked > config.retry_cap_ms:
        return None
    whole = min(config.retry_cap_ms, config.retry_base_ms << (attempt - 1))
    chance = int(digest(f"{seed}:{ref}:{attempt}")[:8], 16) / 0xFFFFFFFF
    return max(asked or 0, whole // 2 + round(whole / 2 * chance))
