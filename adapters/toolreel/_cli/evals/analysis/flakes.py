"""``toolreel eval flakes``: cells whose trials pass and fail, and where these part."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import err
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.table_output import show_tables

_FLAKES_EPILOG = "Exit codes: 0 done, 2 usage."


@click.command("flakes", epilog=_FLAKES_EPILOG, short_help="Find cells whose trials pass and fail.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--broken", default=0.05, show_default=True, help="A cell that passes at most this often is broken."
)
@click.option(
    "--flaky", default=0.5, show_default=True, help="A cell that passes at least this often is flaky."
)
@click.option("--alpha", default=0.05, show_default=True, help="How often a broken cell may be called flaky.")
@click.option("--beta", default=0.05, show_default=True, help="How often a flaky cell may be called broken.")
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the tables there as Markdown.",
)
@json_option
@reporting
def flakes_command(
    folder: Path,
    broken: float,
    flaky: float,
    alpha: float,
    beta: float,
    markdown: Path | None,
    as_machine: bool,
) -> int:
    """Find cells whose trials pass and fail, and the turn in which the trials part, offline.

    Trials of a cell are replayed side by side: what the model did differently in the first turn that differs,
    and the turn that decides between pass and failure. Cells that always or never pass are listed with what
    their number of runs can tell: --broken and --flaky are the two rates, --alpha and --beta the two errors.
    """
    from toolreel.evals._causes.flake_tables import flake_lines, flake_tables, flake_tree
    from toolreel.evals._causes.flakes import flakes_of
    from toolreel.evals._runner.plan_loader import plan_of_header
    from toolreel.evals._store.results import Results, write_atomically
    from toolreel.evals._tables.table import as_markdown
    from toolreel_core.evals._causes.flakiness import Question

    question = Question(broken, flaky, alpha, beta)
    results = Results.open(folder)
    with err.status("") as status:
        found = flakes_of(
            *(results, plan_of_header(results.header), question),
            progress=lambda count: status.update(f"{count} cells"),
        )
    lines, tables = flake_lines(found), flake_tables(found)
    if markdown:
        write_atomically(markdown, as_markdown("Flaky cells", lines, tables))
    if as_machine:
        return say(flake_tree(found))
    show_tables(lines, tables)
    return 0
