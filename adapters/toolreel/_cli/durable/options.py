"""Options of the commands for durable runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from toolreel.durable._runs import DurableRuns

database_option = click.option(
    "--database",
    metavar="URL",
    help="Where the runs are: sqlite:///FILE or postgresql://USER@HOST/NAME; by default what the environment "
    "variable TOOLREEL_DATABASE_URL says, else sqlite:///toolreel.db.",
)
queue_option = click.option(
    "--queue",
    default="toolreel",
    show_default=True,
    metavar="NAME",
    help="The queue of runs and workers: those with other tools or another server have queues of their own.",
)
slot_option = click.option(
    "--slot",
    metavar="NAME",
    help="Name of this worker, the same after each restart: it takes up the runs that it left. By default, "
    "the first free one of worker-1, worker-2 and so on.",
)
uncertain_option = click.option(
    "--uncertain",
    type=click.Choice(("repeat", "ask")),
    default="repeat",
    show_default=True,
    help="A call that was running when its worker died, of a tool that is neither read-only nor idempotent: "
    "repeat it with the same idempotency key, or ask, and let the run wait for `toolreel runs approve`.",
)


run_id_option = click.option(
    "--run-id",
    metavar="ID",
    help="Make the run durable under this id, in --database: killed, the same command goes on where it was. "
    "Needs the extra durable.",
)


def opened_runs(database: str | None) -> DurableRuns:
    """The runs in a database.

    :raises MissingExtra: if DBOS is not installed
    :raises DurableError: if the database cannot be used
    """
    from toolreel.durable import DurableRuns

    return DurableRuns(database)
