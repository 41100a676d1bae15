"""Performers that have the answer to one approval."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from dataclasses import dataclass

from toolreel._driver import AsyncPorts, Ports, Wanted, secrets_of
from toolreel_core._protocol import ApprovalGiven, Event, ReplyReceived, RequestFailed, SendRequest
from toolreel_core._replies import Delta


@dataclass(frozen=True, slots=True)
class Decided:
    """A performer that has the answer to one approval."""

    performer: Ports
    decision: ApprovalGiven

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the performer sends."""
        return secrets_of(self.performer)

    @property
    def clock(self) -> object:
        """The clock of the performer, which may tell the time."""
        return getattr(self.performer, "clock", None)

    def perform(self, effect: Wanted) -> Event | None:
        """The decision, if it is wanted; else what the performer says."""
        return self.decision if effect.ref == self.decision.ref else self.performer.perform(effect)

    def stream(self, effect: SendRequest) -> Generator[Delta | ReplyReceived | RequestFailed, None, None]:
        """What the performer streams."""
        with closing(self.performer.stream(effect)) as pieces:
            yield from pieces


@dataclass(frozen=True, slots=True)
class AsyncDecided:
    """The async version of :class:`Decided`."""

    performer: AsyncPorts
    decision: ApprovalGiven

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the performer sends."""
        return secrets_of(self.performer)

    @property
    def clock(self) -> object:
        """The clock of the performer, which may tell the time."""
        return getattr(self.performer, "clock", None)

    async def perform(self, effect: Wanted) -> Event | None:
        """The decision, if it is wanted; else what the performer says."""
        return self.decision if effect.ref == self.decision.ref else await self.performer.perform(effect)

    async def stream(
        self, effect: SendRequest
    ) -> AsyncGenerator[Delta | ReplyReceived | RequestFailed, None]:
        """What the performer streams."""
        async with aclosing(self.performer.stream(effect)) as pieces:
            async for piece in pieces:
                yield piece
