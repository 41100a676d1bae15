"""``toolreel view``: the list of recordings, a recorded run, or two of them side by side, as pages."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from toolreel._cli.console import err, out
from toolreel._cli.errors import EPILOG, reporting
from toolreel._cli.options import port_option
from toolreel._cli.shared_option import shared_settings
from toolreel._internal import show


@click.command("view", epilog=EPILOG)
@click.argument("file", metavar="[NAME]", required=False)
@click.argument("other", metavar="[OTHER]", required=False)
@click.option(
    "-o",
    "--out",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes.  [default: NAME.html in this folder]",
)
@click.option(
    "--open/--no-open",
    "opens",
    default=True,
    help="Open the page in the browser, where there is a display.  [default: open]",
)
@port_option("Port of the list on 127.0.0.1.  [default: any free one]")
@reporting
def view_command(
    file: str | None, other: str | None, page: Path | None, opens: bool, port: int | None
) -> int:
    """Show a recorded run as a page: how it ended and why, then every turn.

    NAME is a recording, a journal, or a cassette of another client. The page is one self-contained HTML file:
    it has what was repaired, retried or refused, what was sent of the stored history, replies, calls, results
    and times. With OTHER, it shows both runs, and where they part.

    If NAME is a folder, a page lists the recordings below it, and opens each. Without NAME, the folder is
    `recordings` of [tool.toolreel] in pyproject.toml, or this one. Its server listens on 127.0.0.1
    alone, changes nothing, and answers anyone who has the token in the printed address. Ctrl-C ends it.

    \b
    toolreel view
    toolreel view hello
    toolreel view hello warmer -o both.html --no-open
    """
    if file is None or (other is None and Path(file).is_dir()):
        if page:
            raise click.UsageError("--out is for the page of a run: name one")
        from toolreel._replay import ListServer

        folder = file or next(iter(shared_settings().texts("recordings")), ".")
        server = ListServer(Path(folder), port or 0)
        out.print(server.address)
        out.file.flush()
        err.print("Stop with Ctrl-C.")
        if opens:
            show(server.address)
        with suppress(KeyboardInterrupt):  # the way to end it
            server.serve()
        return 0
    if port is not None:
        raise click.UsageError("--port is for the list of recordings: leave out NAME, or --port")
    from toolreel._replay import name_of, page_of, write_page

    text = page_of(file, other)
    names = [Path(name_of(each)).name for each in (file, other) if each]
    target = page or Path(f"{'--'.join(names)}.html")
    write_page(target, text)
    if opens:
        show(target.resolve().as_uri())
    out.print(f"{target}  {len(text.encode()):,} bytes")
    return 0
