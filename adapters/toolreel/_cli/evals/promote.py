"""``toolreel eval promote``: turn a run of an evaluation into a pytest test."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.output.console import out, printable
from toolreel._cli.output.errors import json_option, reporting, say
from toolreel.evals._replay.promote import promote, run_with
from toolreel.evals._store.plan_of_header import plan_in
from toolreel.evals._store.results import Results

__all__ = ["promote_command"]

_EPILOG = "Exit codes: 0 written, 2 usage, 3 the run no longer replays, so no test is written."


@click.command("promote", epilog=_EPILOG, short_help="Turn a recorded run into a pytest test.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("key", metavar="KEY")
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="TESTS",
    help="Directory for the test; created if missing.",
)
@click.option(
    "--name",
    default="",
    metavar="NAME",
    help="Name of the test; by default it is built from the names of the run.",
)
@json_option
@reporting
def promote_command(folder: Path, key: str, target: Path, name: str, as_machine: bool) -> int:
    """Write a pytest test that replays the run KEY of DIR without a network and asserts its verdict.

    KEY is the start of the run's key, as `toolreel eval run` prints it. Three files are written: the
    test, the run's record and its cassette. The test asserts today's verdict, even if that is a failure;
    a comment in it says how to change this once you have fixed the cause.

    \b
    toolreel eval promote results 3f9a2c --to tests/regressions
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    results = Results.open(folder)
    test, verdict = promote(results, plan_in(results.header), run_with(results, key), target, name)
    if as_machine:
        return say({"test": str(test), "result": verdict.result, "category": verdict.category})
    summary = " ".join(filter(None, (verdict.result, verdict.category)))
    out.print(printable(f"{test} asserts: {summary}"))
    out.print(printable(f"pytest {test}"))
    return 0
