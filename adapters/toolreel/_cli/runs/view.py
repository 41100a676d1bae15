"""``toolreel view``: a recorded run as a page, or two of them side by side."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.output.errors import EPILOG, reporting
from toolreel._cli.output.page_file import page_options, write_and_open
from toolreel._replay.run_page.view import name_of, page_of


@click.command("view", epilog=EPILOG, short_help="Show a recorded run as a page, or two side by side.")
@click.argument("file", metavar="NAME")
@click.argument("other", metavar="[OTHER]", required=False)
@page_options("NAME")
@reporting
def view_command(file: str, other: str | None, page: Path | None, opens: bool, as_machine: bool) -> int:
    """Write a recorded run as one self-contained HTML page, and open it.

    The page shows first how the run ended and why, then what was repaired, retried or refused, then every
    turn: what was sent of the stored history, replies, calls, results and times. NAME is a recording, a
    journal, or a cassette of another client. With OTHER, the page shows both, and where they part.

    \b
    toolreel view hello
    toolreel view hello warmer -o both.html --no-open
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    text = page_of(file, other)
    names = [Path(name_of(each)).name for each in (file, other) if each]
    target = page or Path(f"{'--'.join(names)}.html")
    return write_and_open(target, text, opens=opens, as_machine=as_machine)
