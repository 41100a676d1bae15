"""``toolreel runs``: look at durable runs, and speak with them."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup
from toolreel._cli.output.errors import EPILOG

_COMMANDS: Final = (
    LazyCommand("adopt", "durable.tending:adopt_command", "Take over the runs of a worker that is gone."),
    LazyCommand("approve", "durable.speaking:approve_command", "Approve the call that a run waits for."),
    LazyCommand("cancel", "durable.speaking:cancel_command", "Cancel runs."),
    LazyCommand("deny", "durable.speaking:deny_command", "Deny the call that a run waits for."),
    LazyCommand("export", "durable.looking:export_command", "Write a run as a journal, to replay or fork."),
    LazyCommand("health", "durable.tending:health_command", "Say whether database and queue are well."),
    LazyCommand("list", "durable.looking:list_command", "List the runs, the newest first."),
    LazyCommand("prune", "durable.tending:prune_command", "Delete runs that ended long ago."),
    LazyCommand("resume", "durable.speaking:resume_command", "Queue a failed or refused run again."),
    LazyCommand("show", "durable.looking:show_command", "Show what a run did, and what it waits for."),
    LazyCommand("speak", "durable.speaking:speak_command", "Say something to a run."),
    LazyCommand("wait", "durable.looking:wait_command", "Wait until a run has ended or waits for you."),
)


@click.group(
    "runs",
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog=EPILOG,
    short_help="Look at durable runs, approve, cancel, speak.",
)
def runs_command() -> None:
    """Look at the durable runs of a database, and speak with them from any process.

    `toolreel submit` queues a run and `toolreel serve` performs it. A run that waits needs no worker until
    somebody approves its call or speaks. For runs recorded in files, see `toolreel resume`.
    """
