"""``toolreel runs adopt``, ``prune`` and ``health``."""

from __future__ import annotations

import click

from toolreel._cli.durable.options import database_option, opened_runs, queue_option
from toolreel._cli.output.console import counted, labelled, out
from toolreel._cli.output.errors import EPILOG, FAILED, json_option, reporting, say


@click.command("adopt", epilog=EPILOG, short_help="Take over the runs of a worker that is gone.")
@click.argument("slots", metavar="SLOT...", nargs=-1, required=True)
@database_option
@queue_option
@reporting
def adopt_command(slots: tuple[str, ...], database: str | None, queue: str) -> int:
    """Queue the runs again that workers left behind which do not come back.

    SLOT is the name of such a worker, as in its --slot. A worker that is alive keeps its runs: then this is
    an error, and nothing changes. One that starts again with its slot takes up its runs without this.

    \b
    toolreel runs adopt worker-3
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        for slot in slots:
            found = runs.adopt(slot, queue=queue)
            labelled(out, "adopted", f"{slot}: {', '.join(found) if found else 'it left no runs'}")
    return 0


@click.command("prune", epilog=EPILOG, short_help="Delete runs that ended long ago.")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    required=True,
    metavar="DAYS",
    help="Only runs that ended at least this many days ago.",
)
@database_option
@reporting
def prune_command(days: float, database: str | None) -> int:
    """Delete runs that ended long ago, with all that is stored of them. Runs that wait or failed stay.

    \b
    toolreel runs prune --older-than 30
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        labelled(out, "deleted", counted(runs.prune(days * 86_400), "run"))
    return 0


@click.command("health", epilog=EPILOG, short_help="Say whether database and queue are well.")
@click.option(
    "--oldest",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Fail if a run is queued for longer than this: no worker takes it, or there are too few.",
)
@database_option
@json_option
@reporting
def health_command(oldest: float | None, database: str | None, as_machine: bool) -> int:
    """Say how many runs have which status, and how long the oldest one is queued; for probes and metrics.

    Exits with 2 if the database cannot be reached, and with 1 if --oldest is exceeded.

    \b
    toolreel runs health --oldest 60 --json
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        counts, queued = runs.counts(), runs.oldest_queued_seconds()
    if as_machine:
        say({"counts": dict(counts), "oldest_queued_seconds": queued})
    else:
        labelled(
            out, "runs", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
        )
        if queued is not None:
            labelled(out, "oldest", f"queued for {queued:.0f} s")
    return FAILED if oldest is not None and queued is not None and queued > oldest else 0
