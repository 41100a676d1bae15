"""Where a page goes, and whether it is opened: for the commands that show a run as a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from toolreel._cli.output.console import out
from toolreel._cli.output.errors import json_option, say

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
