"""``toolreel eval work``: make runs of an evaluation that another process has begun."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event

import click

from toolreel._cli.console import counted, err
from toolreel._cli.errors import reporting
from toolreel._cli.evals.live.connection_notices import connect_with_notices
from toolreel._cli.run_options import database_option


@click.command(
    "work",
    epilog="Exit codes: 0 it was stopped, 2 usage.",
    short_help="Make runs of an evaluation that another process began.",
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@database_option
@reporting
def work_command(folder: Path, database: str | None) -> int:
    """Make runs of the evaluation in DIR, which `toolreel eval run --durable --out DIR` has begun.

    Start as many as you like, until Ctrl-C or SIGTERM; runs under way are then completed. DIR has to be the
    same folder for all, since each writes the recordings of its runs; the database has their records.

    \b
    toolreel eval work results --database postgresql://user@host/evals
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel.evals._runner.durable_pool import work

    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    made = work(folder, database, connect_with_notices, stop)
    err.print(f"{counted(made, 'run')} made here")
    return 0
