"""Approvers to choose from: they approve or deny every call, or leave the decision open."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
)


@dataclass(frozen=True, slots=True)
class Always:
    """Approves every call."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Approve."""
        return ApprovalGiven(effect.ref, True)


@dataclass(frozen=True, slots=True)
class Never:
    """Denies every call."""

    reason: str = ""
    """Why; the model sees it in the result of the call."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Deny, with the reason."""
        return ApprovalGiven(effect.ref, False, self.reason)


@dataclass(frozen=True, slots=True)
class Later:
    """Leaves every decision open: the run pauses, and ``go_on`` or ``resume`` continues it."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:  # noqa: ARG002 - of the port
        """Leave the decision open."""
        return None


@dataclass(frozen=True, slots=True)
class AsyncLater:
    """The async version of :class:`Later`."""

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:  # noqa: ARG002 - of the port
        """Leave the decision open."""
        return None
