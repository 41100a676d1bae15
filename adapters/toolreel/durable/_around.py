"""What is called around each request, such as a rate limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from toolreel._driver import Performer, Wanted, secrets_of
from toolreel_core._protocol import Event, SendRequest

Send: TypeAlias = Callable[[], Event | None]
Around: TypeAlias = Callable[[SendRequest, Send], Event | None]
"""Gets a request and what sends it; returns the answer, after it has waited for its turn, for example."""


@dataclass(frozen=True, slots=True)
class _Surrounded:
    performer: Performer
    around: Around

    @property
    def tools(self) -> object:
        """The tool host of the ports, if they say it."""
        return getattr(self.performer, "tools", None)

    @property
    def endpoint(self) -> object:
        """The endpoint of the ports, if they say it."""
        return getattr(self.performer, "endpoint", None)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the ports send."""
        return secrets_of(self.performer)

    def perform(self, effect: Wanted) -> Event | None:
        """Perform an effect; a request goes through ``around``."""
        if isinstance(effect, SendRequest):
            return self.around(effect, lambda: self.performer.perform(effect))
        return self.performer.perform(effect)


def with_around(performer: Performer, around: Around | None) -> Performer:
    """The performer, with something around each request."""
    return performer if around is None else _Surrounded(performer, around)
