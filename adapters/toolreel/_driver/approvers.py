"""Approvers that need nobody: for tests, and for runs whose tools may always, or never, run."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._protocol.effects import AskApproval
from toolreel_core._protocol.events import ApprovalGiven

__all__ = ["Always", "AsyncLater", "Later", "Never"]


@dataclass(frozen=True, slots=True)
class Always:
    """Approves every call."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Yes."""
        return ApprovalGiven(effect.ref, True)


@dataclass(frozen=True, slots=True)
class Never:
    """Denies every call."""

    reason: str = ""
    """What the model is told."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """No."""
        return ApprovalGiven(effect.ref, False, self.reason)


@dataclass(frozen=True, slots=True)
class Later:
    """Decides nothing now, so that the run rests until somebody does."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:  # noqa: ARG002 - the port hands it over
        """Not now."""
        return None


@dataclass(frozen=True, slots=True)
class AsyncLater:
    """The same as :class:`Later`, awaited."""

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:  # noqa: ARG002 - the port hands it over
        """Not now."""
        return None
