"""``toolreel eval report``: the results as one HTML page, and as pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import click

from toolreel._cli.console import err, out
from toolreel._cli.errors import EPILOG, json_option, reporting, say
from toolreel.evals._store.results import write_atomically


@click.command("report", epilog=EPILOG, short_help="Show the results as one HTML page, and as pictures.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--out",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes.  [default: report.html in DIR]",
)
@click.option(
    "--svg",
    "pictures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write heatmap.svg, strategies.svg, failures.svg and cost.svg into this directory.",
)
@click.option(
    "--transcripts",
    type=click.IntRange(min=0),
    metavar="N",
    help="Tell only N runs turn by turn, failures first.  [default: all]",
)
@click.option(
    "--pages",
    "pages",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also write pages of N runs, failures first, into a folder next to the report, which links to them.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@json_option
@reporting
def report_command(
    folder: Path,
    page: Path | None,
    pictures: Path | None,
    transcripts: int | None,
    pages: int,
    opens: bool,
    as_machine: bool,
) -> int:
    """Write the results in DIR as one self-contained HTML page.

    It begins with the answer and the gates, and has all runs turn by turn, replayed from the cassettes. The
    same results give the same page.

    \b
    toolreel eval report results
    toolreel eval report results --out report.html --svg pictures --open
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._internal.browser import show
    from toolreel.evals._replay.run_pages import pages_of_runs
    from toolreel.evals._report.page import report_content, report_page, report_pictures, runs_by_need
    from toolreel.evals._store.results import Results

    found = report_content(Results.open(folder))
    target = page or folder / "report.html"
    wanted = frozenset(entry.key for entry in runs_by_need(found)[:pages])
    beside = target.with_name(f"{target.stem}_runs")
    runs = {f"{name}.html": text for name, text in pages_of_runs(found.results, found.plan, wanted)}
    links = {name.removesuffix(".html"): f"{quote(beside.name)}/{name}" for name in runs}
    files = {target: report_page(found, transcripts, _shown_progress(), links)}
    files |= {beside / name: text for name, text in runs.items()}
    if pictures is not None:
        files |= {pictures / name: text for name, text in report_pictures(found).items()}
    for path, text in files.items():
        write_atomically(path, text)
    if opens:
        show(target.resolve().as_uri())
    if as_machine:
        return say({"files": [str(path) for path in files], "complete": found.summary.complete})
    if not found.summary.complete:
        err.print("The evaluation is incomplete, and the page says so.", style="yellow")
    for path, text in files.items():
        if path.parent != beside:
            out.print(f"{path}  {len(text.encode()):,} bytes")
    if runs:
        out.print(f"{beside}  {len(runs):,} pages of runs")
    return 0


def _shown_progress() -> Callable[[int, int], None] | None:
    """Shows on a terminal how many runs were replayed; thousands take minutes."""
    if not err.is_terminal:
        return None
    return lambda done, runs: err.print(
        f"{done:,} of {runs:,} runs replayed", end="\n" if done == runs else "\r"
    )
