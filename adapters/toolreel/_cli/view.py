"""``toolreel view``: recorded runs as pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from toolreel._cli.console import out
from toolreel._cli.errors import EPILOG, json_option, reporting, say
from toolreel._replay.run_page.view import name_of, page_of

_Command = TypeVar("_Command", bound=Callable[..., Any])


def page_options(name: str) -> Callable[[_Command], _Command]:
    """``--out``, ``--open`` and ``--json``.

    :param name: what the file is called by default, without its ending
    """
    out_option = click.option(
        "-o",
        "--out",
        "page",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Where the page goes.  [default: {name}.html in this folder]",
    )

    def decorate(command: _Command) -> _Command:
        return out_option(open_option(json_option(command)))

    return decorate


open_option = click.option(
    "--open/--no-open",
    "opens",
    default=True,
    help="Open the page in the browser, where there is a display.  [default: open]",
)


def write_and_open(target: Path, text: str, *, opens: bool, as_machine: bool) -> int:
    """Write a page, open it, and say where it is.

    :raises AdapterError: if it cannot be written
    """
    from toolreel._internal.browser import show
    from toolreel._replay.run_page.view import write_page

    write_page(target, text)
    if opens:
        show(target.resolve().as_uri())
    if as_machine:
        return say({"file": str(target), "bytes": len(text.encode())})
    out.print(f"{target}  {len(text.encode()):,} bytes")
    return 0


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
