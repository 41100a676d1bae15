"""Options that say how a run is performed: ``--driver``, ``--timeout``, ``--approve``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import click

from toolreel._cli.output.console import err, printable, withhold
from toolreel._cli.output.progress import RunProgress
from toolreel._driver.ports import Approver
from toolreel._driver.user.approvers import Always, Never
from toolreel._replay.replay import DRIVERS, Driver
from toolreel_core._protocol.effects import AskApproval
from toolreel_core._protocol.events import ApprovalGiven

if TYPE_CHECKING:
    from toolreel._cli.live.live_run import LiveSession
    from toolreel._cli.live.live_target import LiveTarget
    from toolreel._cli.options.sources import Sources

Approval: TypeAlias = Literal["ask", "always", "never"]
_APPROVALS: Final[tuple[Approval, ...]] = ("ask", "always", "never")

approve_option = click.option(
    "--approve",
    type=click.Choice(_APPROVALS),
    default="ask",
    show_default=True,
    help="Who approves calls of tools that need approval: ask prompts you at the terminal (without one, "
    "the call is denied), always and never decide without a prompt.",
)
driver_option = click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    default="sync",
    show_default=True,
    help="Run the loop with blocking calls, or on an event loop.",
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for a reply, or for the next chunk of a streamed reply.",
)


@dataclass(frozen=True, slots=True)
class TerminalApprover:
    """Shows the call and asks for a yes or no at the terminal."""

    progress: RunProgress

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The answer of the person at the terminal."""
        with self.progress.paused():
            err.print(printable(f"{effect.name}({effect.arguments})"), style="bold")
            try:
                approved = click.confirm("Run it?", err=True)
            except click.Abort:
                # click raises Abort for Ctrl-C and for the end of input alike: both cancel the run.
                raise KeyboardInterrupt from None
        return ApprovalGiven(effect.ref, approved, "" if approved else "the user said no")


def live_session(
    target: LiveTarget,
    sources: Sources,
    approve: Approval,
    progress: RunProgress,
    driver: Driver = "sync",
    *,
    durable: bool = False,
) -> LiveSession:
    """A session that shows its progress; ``--approve ask`` without a terminal denies."""
    from toolreel._cli.live.live_run import LiveSession

    withhold(target.secrets)
    approver: Approver = Never("nobody was there to approve it" if approve == "ask" else "")
    if approve == "always":
        approver = Always()
    elif approve == "ask" and sys.stdin.isatty():
        approver = TerminalApprover(progress)
    shown = (progress, progress.show_delta)
    run_by = (driver, approver, *shown, durable, progress.figures)
    return LiveSession(target, sources.tools, sources.hosts, *run_by)
