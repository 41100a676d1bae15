"""``toolreel ui``: a local page that lists recordings, evaluations and durable runs."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import err, out
from toolreel._cli.errors import EPILOG, reporting
from toolreel._cli.view import open_option

if TYPE_CHECKING:
    from toolreel._ui.durable_source import DatabaseRuns


@click.command("ui", epilog=EPILOG, short_help="Open a local page that lists recordings and runs.")
@click.argument(
    "folder", metavar="[DIR]", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--database",
    metavar="URL",
    help="List the durable runs of this database too: sqlite:///FILE or postgresql://USER@HOST/NAME.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="Port on 127.0.0.1.  [default: any free one]",
)
@open_option
@reporting
def ui_command(folder: Path, database: str | None, port: int, opens: bool) -> int:
    """List the recordings and evaluations below DIR on a page, and what happens while they are made.

    DIR is this folder by default. Filter and search the list, open a run or the report of an evaluation,
    choose two runs to see them side by side. The server listens on 127.0.0.1 alone, changes nothing, and
    answers anyone who has the token in the printed address. Ctrl-C ends it.

    \b
    toolreel ui
    toolreel ui cassettes --database sqlite:///toolreel.db
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._internal.asgi_server import listening_on, serve_app
    from toolreel._internal.browser import show
    from toolreel._internal.errors import AdapterError
    from toolreel._ui.app import Ui
    from toolreel._ui.index import Index

    runs = _database(database)
    ui = Ui(Index(folder, runs), folder.resolve().name or "recordings", runs)
    listening = listening_on("127.0.0.1", port, AdapterError, "--port N")
    bound, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://127.0.0.1:{bound}/?token={token}"

    def ready() -> None:
        out.print(address)
        out.file.flush()
        err.print("Stop with Ctrl-C.")
        if opens:
            show(address)

    ui.start()
    try:
        # A page that is being made when Ctrl-C comes is given up, and nobody needs its traceback.
        served = ui.app(token, bound)
        serve_app(served, listening, drain=1, ready=ready, lifespan=False, log_level="critical")
    finally:
        ui.stop()
    return 0


def _database(url: str | None) -> DatabaseRuns | None:
    if url is None:
        return None
    from toolreel._cli.run_options import opened_runs
    from toolreel._ui.durable_source import DatabaseRuns

    return DatabaseRuns(opened_runs(url))
