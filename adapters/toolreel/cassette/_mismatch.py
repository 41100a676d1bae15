"""The error message for a request that is not in the recording: how the nearest one differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolreel.cassette._lookup import canonical_body, endpoint
from toolreel.cassette._request_diff import difference, drift

if TYPE_CHECKING:
    from vcr.request import Request

RERECORD: Final = "If the change is meant, record the session again"

_COMPARED: Final = 50
"""Maximum number of unplayed interactions among which the nearest is searched."""

Interactions: TypeAlias = "Sequence[tuple[Request, object]]"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that a client sends to a recording."""

    method: str
    url: str
    body: bytes
    """Canonical, as from :func:`~toolreel.cassette._lookup.canonical_body`."""

    @property
    def name(self) -> str:
        """Method and endpoint, for messages."""
        return f"{self.method.upper()} {endpoint(self.url)}"


def named(request: Request) -> str:
    """Method and endpoint of a recorded request, for messages."""
    return f"{request.method.upper()} {endpoint(request.uri)}"


def told(asked: Asked, interactions: Interactions, left: Sequence[int], *, repeated: bool) -> str:
    """The message that says why a request has no answer.

    :param left: numbers of the interactions that are still unplayed
    :param repeated: whether the recording has this request, but all its answers were used
    """
    text = f"{asked.name} is not in the recording"
    if repeated:
        text = f"{asked.name} was recorded, but is asked for more often than that"
    total = len(interactions)
    if not left:
        return f"{text}; all {total} interactions have been played. {RERECORD}."
    index = _nearest(asked, interactions, left[:_COMPARED])
    text += f"; the nearest that is still unplayed is interaction {index + 1} of {total}:\n"
    return f"{text}{_comparison(asked, interactions[index][0])}\n{RERECORD}."


def _nearest(asked: Asked, interactions: Interactions, candidates: Sequence[int]) -> int:
    # Same endpoint first, then the smallest difference of the bodies.
    def likeness(index: int) -> tuple[bool, int]:
        request = interactions[index][0]
        return named(request) == asked.name, -difference(canonical_body(_body(request)), asked.body)

    return max(candidates, key=likeness)


def _comparison(asked: Asked, request: Request) -> str:
    if named(request) != asked.name:
        return f"first change: the endpoint\n  recorded: {named(request)}\n  request:  {asked.name}"
    return drift(canonical_body(_body(request)), asked.body)


def _body(request: Request) -> bytes:
    body: Any = request.body
    return body or b""
