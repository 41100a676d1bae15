"""``toolreel eval view``: one run of an evaluation as a page."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.errors import EPILOG, reporting
from toolreel._cli.view import page_options, write_and_open


@click.command("view", epilog=EPILOG, short_help="Show one run as a page, turn by turn.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("key", metavar="RUN")
@page_options("RUN")
@reporting
def view_command(folder: Path, key: str, page: Path | None, opens: bool, as_machine: bool) -> int:
    """Write one run of the evaluation in DIR as a page, as `toolreel view` shows a recorded run.

    RUN is the beginning of its key, as the report and `eval replay` name it. The run is replayed from its
    cassette.

    \b
    toolreel eval view results 3f2a
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel.evals._replay.run_pages import page_of_run
    from toolreel.evals._store.results import Results

    name, text = page_of_run(Results.open(folder), key)
    target = page or Path(f"{name}.html")
    return write_and_open(target, text, opens=opens, as_machine=as_machine)
