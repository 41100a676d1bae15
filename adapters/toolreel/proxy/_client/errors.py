"""Errors as OpenAI has them, which are sent in the form of the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, finite, read
from toolreel_core._protocol import RequestFailed
from toolreel_core._proxy import words_of
from toolreel_core._replies import Problem, ProblemCode

OURS: Final = "toolreel_error"
"""The type of errors that the proxy makes itself."""
UPSTREAM: Final = "upstream_error"
"""The type of those that it makes of what the upstream does."""

_NEVER_AGAIN: Final = {"x-should-retry": "false"}
"""The openai SDKs obey it: the same request fails the same way."""

_STATUSES: Final[Mapping[ProblemCode, int]] = {"RATE_LIMITED": 429, "CONTENT_FILTER": 400}
"""A filter says the same again; Azure reports it as an error of the request, too."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error as the client gets it."""

    status: int
    message: str
    code: str
    type: str = OURS
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    further: Mapping[str, Json] = field(default_factory=dict)
    """What else the upstream says of it."""

    @property
    def error(self) -> Tree:
        """The error object."""
        own: Tree = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {**self.further, **own}


def refused(status: int, message: str, code: str, param: str | None = None, *, allow: str = "") -> Trouble:
    """An error of the client, which repeating the request does not mend.

    :param allow: the method that the path takes instead
    """
    headers = {**_NEVER_AGAIN, "allow": allow} if allow else _NEVER_AGAIN
    return Trouble(status, message, code, "invalid_request_error", param, headers)


def misconfigured(error: ToolreelError) -> Trouble:
    """The error of the proxy's own settings, which keep it from asking the upstream."""
    return Trouble(502, str(error), "proxy_misconfigured", OURS, None, _NEVER_AGAIN)


def mismatch(message: str) -> Trouble:
    """The error of a request that is in no recording."""
    return Trouble(422, message, "replay_mismatch", OURS, None, _NEVER_AGAIN)


def failure(event: RequestFailed) -> Trouble:
    """The error for a request that failed at the upstream."""
    match event.failure:
        case "status":
            return _said(event)
        case "connect":
            return Trouble(
                502, f"The upstream cannot be reached. {event.message}", "upstream_unreachable", UPSTREAM
            )
        case "timeout":
            return Trouble(504, f"The upstream took too long. {event.message}", "upstream_timeout", UPSTREAM)
        case "too_large":
            return Trouble(
                502, f"The upstream's answer is too large. {event.message}", "upstream_too_large", UPSTREAM
            )
        case "broken":
            return Trouble(
                502, f"The upstream's answer broke off. {event.message}", "upstream_broken", UPSTREAM
            )
        case _:
            assert_never(event.failure)


def _said(event: RequestFailed) -> Trouble:
    """The upstream's own error, in the documented form."""
    tree = as_tree(read(event.body).value_or(""))
    error = as_tree(tree.get("error")) or tree
    code, kind, param = (error.get(key) for key in ("code", "type", "param"))
    return Trouble(
        event.status if event.status and 400 <= event.status < 600 else 502,
        event.message,
        str(code) if isinstance(code, str | int) and not isinstance(code, bool) else "upstream_status",
        kind if isinstance(kind, str) else UPSTREAM,
        param if isinstance(param, str) else None,
        further={key: value for key, value in as_tree(finite(error)).items() if key != "failed_generation"},
    )


def no_reply(problem: Problem) -> Trouble:
    """The error for an answer of status 200 that is no completion."""
    status = _STATUSES.get(problem.code, 502)
    return Trouble(status, words_of(problem), problem.code.lower(), UPSTREAM)
