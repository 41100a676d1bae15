"""A sync performer for the async driver."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel._driver.ports import Performer, Wanted
from toolreel_core._protocol.events import Event

__all__ = ["ImmediatePerformer"]


@dataclass(frozen=True, slots=True)
class ImmediatePerformer:
    """Offers a sync performer that never blocks as an async one."""

    performer: Performer

    async def perform(self, effect: Wanted) -> Event | None:
        """Call the sync port."""
        return self.performer.perform(effect)
