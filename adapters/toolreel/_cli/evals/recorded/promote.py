"""``toolreel eval promote``: make a regression test of a recorded run."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import out, printable
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.recorded.replay import folder_argument, verdict_words
from toolreel.evals._replay.regression_test import find_run, promote
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results

_PROMOTE_EPILOG = "Exit codes: 0 written, 2 usage, 3 the run would go another way now, so it makes no test."


@click.command("promote", epilog=_PROMOTE_EPILOG, short_help="Make a regression test of a recorded run.")
@folder_argument
@click.argument("key", metavar="KEY")
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="TESTS",
    help="Directory of the test; created if it does not exist.",
)
@click.option("--name", default="", metavar="NAME", help="Name of the test; derived from the run by default.")
@json_option
@reporting
def promote_command(folder: Path, key: str, target: Path, name: str, as_machine: bool) -> int:
    """Write a pytest test that replays the run KEY of DIR, without a network, and asserts its verdict.

    KEY is the beginning of the run's key. Three files are written: the test, the run's record, its cassette.
    The test asserts the present verdict, even a failure, and explains how to invert it.
    """
    results = Results.open(folder)
    test, verdict = promote(results, plan_of_header(results.header), find_run(results, key), target, name)
    if as_machine:
        return say({"test": str(test), "result": verdict.result, "category": verdict.category})
    out.print(printable(f"{test} asserts: {verdict_words(verdict)}"))
    out.print(printable(f"pytest {test}"))
    return 0
