"""``toolreel eval drift``: whether an endpoint still is what a stored evaluation says."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import DRIFT, INTERRUPTED, json_option, reporting, say
from toolreel._cli.evals.live.connection_notices import connect_with_notices
from toolreel._cli.evals.live.progress import EvaluationProgress
from toolreel._cli.evals.table_output import FAILED, show_tables
from toolreel._internal.errors import ResultsError
from toolreel.evals._store.results import Results, write_json

if TYPE_CHECKING:
    from toolreel.evals._runner.evaluation import EvaluationOutcome

_EPILOG = (
    "Exit codes: 0 the same, 1 drifted, 2 usage, 3 undecided, or runs are missing, 130 stopped with Ctrl-C."
)
_SHOWN = 10
"""Pairs that the console lists."""


@click.command("drift", epilog=_EPILOG, short_help="Repeat an evaluation: is the endpoint what it was?")
@click.argument("folder", metavar="RESULTS", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--base-url", default="", metavar="URL", help="Repeat it at this server instead of the plan's.")
@click.option("--api-key-env", default="", metavar="VAR", help="The variable that holds the API key.")
@click.option(
    "--endpoint", default="", metavar="NAME", help="Only at this one of the plan's [endpoints.NAME]."
)
@click.option("--trials", default=0, metavar="N", help="Repeat only the first N trials of each cell.")
@click.option(
    "--margin",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="A difference of the rates that does not matter: 0.05 is 5 points.",
)
@click.option(
    "--out",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory for the repeated runs; runs that it already has are not repeated again.",
)
@click.option("--jobs", default=0, metavar="N", help="Maximum number of concurrent runs; as in the plan.")
@click.option("-v", "--verbose", is_flag=True, help="A line for each run, on a terminal too.")
@json_option
@reporting
def drift_command(  # noqa: PLR0913, PLR0917 - options of a command
    folder: Path,
    base_url: str,
    api_key_env: str,
    endpoint: str,
    trials: int,
    margin: float,
    target: Path,
    jobs: int,
    verbose: bool,
    as_machine: bool,
) -> int:
    """Repeat the evaluation in RESULTS, and say whether the endpoint still is what it was.

    Each run is compared with the stored one of the same trial, each model at each endpoint separately. The
    answer is about these scenarios: the same if the interval of the difference is within the margin (of each
    of them), drifted if the rates differ, as a whole or in a scenario, or undecided. Another server gets no
    key and no header that was meant for the plan's.

    \b
    toolreel eval drift results/ --out again/
    toolreel eval drift results/ --base-url http://127.0.0.1:8080 --trials 5 --margin 0.1 --out again/
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from dataclasses import replace

    from toolreel.evals._drift.repetition import repetition
    from toolreel.evals._drift.tables import drift_lines, drift_tables, drift_tree
    from toolreel.evals._drift.verdict import drift_between
    from toolreel.evals._runner.evaluation import evaluate

    if target.resolve() == folder.resolve():
        raise ResultsError(f"--out {target}: is what is to be repeated; name another directory")
    results = Results.open(folder)
    plan = repetition(results, endpoint=endpoint, base_url=base_url, api_key_env=api_key_env, trials=trials)
    if jobs:
        plan = replace(plan, options=replace(plan.options, jobs=jobs))
    progress = EvaluationProgress(plan, lines=verbose)
    with closing(connect_with_notices(plan)) as connection, progress.watching() as stop:
        outcome = evaluate(plan, target, connection, None, progress, stop)
    found = drift_between(results, plan, Results.open(target), margin)
    tree = drift_tree(found)
    write_json(target / "drift.json", tree)
    if as_machine:
        say({"out": str(target), **tree})
    else:
        _tell(outcome, progress)
        show_tables(map(printable, drift_lines(found)), drift_tables(found, _SHOWN))
    if progress.interrupted and not outcome.complete:
        return INTERRUPTED
    return {"same": 0, "drifted": FAILED, "undecided": DRIFT}[found.verdict]


def _tell(outcome: EvaluationOutcome, progress: EvaluationProgress) -> None:
    if outcome.made:
        out.print(f"{outcome.made} runs made: {progress.status_text}")
    if outcome.stopped:
        err.print(f"Stopped: {outcome.stopped}.", style="yellow")
