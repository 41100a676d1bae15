"""Performers that have the answer to one approval."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel._driver.ports import AsyncPerformer, Performer, Wanted, secrets_of
from toolreel_core._protocol.events import ApprovalGiven, Event


@dataclass(frozen=True, slots=True)
class Decided:
    """A performer that has the answer to one approval."""

    performer: Performer
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


@dataclass(frozen=True, slots=True)
class AsyncDecided:
    """The async version of :class:`Decided`."""

    performer: AsyncPerformer
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
