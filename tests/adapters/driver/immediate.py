"""Sync ports for the async driver."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel._driver import Approver, Performer, ToolHost, Wanted
from toolreel_core._protocol import ApprovalGiven, AskApproval, Event, RunTool, ToolReturned


@dataclass(frozen=True, slots=True)
class ImmediateApprover:
    """Offers a sync approver that never blocks as an async one."""

    approver: Approver

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Call the sync port."""
        return self.approver.decide(effect)


@dataclass(frozen=True, slots=True)
class ImmediatePerformer:
    """Offers a sync performer that never blocks as an async one."""

    performer: Performer

    async def perform(self, effect: Wanted) -> Event | None:
        """Call the sync port."""
        return self.performer.perform(effect)


@dataclass(frozen=True, slots=True)
class ImmediateTools:
    """Offers a sync tool host that never blocks as an async one."""

    tools: ToolHost

    async def run(self, effect: RunTool) -> ToolReturned:
        """Call the sync port."""
        return self.tools.run(effect)
