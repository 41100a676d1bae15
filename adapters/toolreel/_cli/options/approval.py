"""Asking the person at the terminal whether a tool may run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import click

from toolreel._cli.output.console import err, printable
from toolreel._cli.output.progress import RunProgress
from toolreel._driver.approvers import Always, Never
from toolreel._driver.ports import Approver
from toolreel_core._protocol.effects import AskApproval
from toolreel_core._protocol.events import ApprovalGiven

__all__ = ["APPROVALS", "Approval", "Terminal", "approver"]

Approval: TypeAlias = Literal["ask", "always", "never"]
APPROVALS: Final[tuple[Approval, ...]] = ("ask", "always", "never")


@dataclass(frozen=True, slots=True)
class Terminal:
    """Shows the call and waits for a yes or no."""

    watching: RunProgress

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """What the person says."""
        with self.watching.paused():
            err.print(printable(f"{effect.name}({effect.arguments})"), style="bold")
            try:
                approved = click.confirm("Run it?", err=True)
            except click.Abort:  # what click makes of Ctrl-C, and of an end of input
                raise KeyboardInterrupt from None
        return ApprovalGiven(effect.ref, approved, "" if approved else "the user said no")


def approver(choice: Approval, watching: RunProgress) -> Approver:
    """Who decides; where nobody sits at a terminal, asking means no."""
    if choice == "always":
        return Always()
    if choice == "ask" and sys.stdin.isatty():
        return Terminal(watching)
    return Never("nobody was there to approve it" if choice == "ask" else "")
