"""``toolreel run --run-id``: one durable run in this process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from toolreel._cli.durable.options import opened_runs
from toolreel._cli.durable.ports import live_ports
from toolreel._cli.options.driver_and_approval import Approval, TerminalApprover
from toolreel._cli.output.console import err
from toolreel._driver.ports import Approver
from toolreel._driver.user.approvers import Always, Later, Never
from toolreel.durable import Worker

if TYPE_CHECKING:
    from toolreel._cli.options.server import ServerChoice
    from toolreel._cli.options.sources import Sources
    from toolreel._cli.output.progress import RunProgress
    from toolreel.durable import DurableRun
    from toolreel_core._plan.plan import Plan


def run_durably(
    run_id: str,
    plan: Plan,
    database: str | None,
    ports: tuple[str, ServerChoice, float, Sources],
    approve: Approval,
    progress: RunProgress,
) -> DurableRun:
    """Perform a run in a queue of its own, until it ends or waits for somebody."""
    own = f"run {run_id}"
    with opened_runs(database) as runs:
        runs.submit(plan, run_id, queue=own)
        if runs.summary(run_id).status in {"failed", "refused"}:
            runs.resume(run_id)
        with (
            live_ports(*ports, _approver(approve, progress)) as performer,
            Worker(
                performer,
                database,
                queue=own,
                slot=own,
                concurrency=1,
                poll_seconds=0.1,
            ),
        ):
            try:
                return runs.wait(run_id)
            except KeyboardInterrupt:
                err.print(f"The run rests; the same command with --run-id {run_id} goes on.", style="yellow")
                raise


def _approver(approve: Approval, progress: RunProgress) -> Approver:
    """Without a terminal, the run waits for ``toolreel runs approve``."""
    match approve:
        case "always":
            return Always()
        case "never":
            return Never("")
        case "ask":
            return TerminalApprover(progress) if sys.stdin.isatty() else Later()
