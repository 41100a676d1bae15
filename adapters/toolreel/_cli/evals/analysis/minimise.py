"""``toolreel eval minimise``: the smallest prompt and tool surface that still fails, as a test."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import DRIFT, json_option, reporting, say
from toolreel._cli.evals.live.connection_notices import connect_with_notices
from toolreel._cli.evals.recorded.replay import folder_argument, verdict_words
from toolreel._cli.evals.table_output import show_tables
from toolreel.evals._causes.minimise import Minimised, Progress, Search, minimise, shown_parts
from toolreel.evals._replay.regression_test import find_run, promote
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel.evals._tables.table import TextTable
from toolreel_core._jsontext.canonical import Json

_MINIMISE_EPILOG = (
    "Exit codes: 0 no single part can be left out, 2 usage, 3 ended early by the budget or by Ctrl-C; the "
    "smallest prompt so far is written all the same."
)


@click.command(
    "minimise", epilog=_MINIMISE_EPILOG, short_help="Find the smallest prompt and tools that still fail."
)
@folder_argument
@click.argument("key", metavar="RUN")
@click.option("--budget", required=True, type=int, metavar="N", help="Requests that may be sent.")
@click.option("--repeats", default=3, show_default=True, help="Tries of each smaller prompt.")
@click.option("--failing", default=2, show_default=True, help="Tries that have to fail.")
@click.option("--any-failure", is_flag=True, help="Accept another failure than that of the run.")
@click.option(
    "--keep", multiple=True, metavar="TEXT", help="Keep lines and tools with this text in them; repeatable."
)
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="TESTS",
    help="Directory of the test; created if it does not exist.",
)
@click.option("--name", default="", metavar="NAME", help="Name of the test; derived from the run by default.")
@click.option("--base-url", default="", metavar="URL", help="Another endpoint than the plan's.")
@json_option
@reporting
def minimise_command(  # noqa: PLR0913, PLR0917 - options of a command
    folder: Path,
    key: str,
    budget: int,
    repeats: int,
    failing: int,
    any_failure: bool,
    keep: tuple[str, ...],
    target: Path,
    name: str,
    base_url: str,
    as_machine: bool,
) -> int:
    """Leave out lines of the prompt, tools, properties and descriptions while the run still fails.

    The endpoint of the evaluation is asked. A smaller prompt counts if it fails in --failing of --repeats
    tries, by the category of the run RUN of DIR. The result is a pytest test with its recording, as of
    eval promote.
    """
    search = Search(budget, repeats, failing, any_failure, keep)
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    record = find_run(results, key)
    if base_url:
        endpoint = replace(plan.endpoint, base_url=base_url)
        plan = replace(plan, options=replace(plan.options, endpoint=endpoint))
    with TemporaryDirectory() as temporary, closing(connect_with_notices(plan)) as connection:
        scratch = Path(temporary)
        with err.status("") as status:
            found = minimise(
                *(plan, record, search, connection, scratch),
                progress=lambda at: status.update(_words(at, budget)),
            )
        test, verdict = promote(
            Results(scratch, results.header, {}),
            plan,
            found.record,
            target,
            name or f"{record.cell.scenario}_minimised_{record.key[:8]}",
            tuple(part.name for part in found.removed),
        )
    if as_machine:
        say(_tree(found, test))
    else:
        lines = (
            f"{len(found.kept)} of {len(found.kept) + len(found.removed)} parts are left, after "
            f"{found.tries} tries with {found.requests} requests",
        )
        table = TextTable("what is left", ("part", "text"), shown_parts(found.kept))
        show_tables(lines, [table] if table.rows else [])
        out.print(printable(f"{test} asserts: {verdict_words(verdict)}"))
        out.print(printable(f"pytest {test}"))
        if found.stopped:
            err.print(printable(f"Ended early: {found.stopped}."), style="yellow")
    return DRIFT if found.stopped else 0


def _words(at: Progress, budget: int) -> str:
    return f"{at.parts} parts left, try {at.tries}, {at.requests} of {budget} requests"


def _tree(found: Minimised, test: Path) -> dict[str, Json]:
    return {
        "kept": [{"part": name, "text": text} for name, text in shown_parts(found.kept)],
        "removed": [part.name for part in found.removed],
        "requests": found.requests,
        "tries": found.tries,
        "stopped": found.stopped or None,
        "test": str(test),
        "category": found.record.verdict.category,
    }
