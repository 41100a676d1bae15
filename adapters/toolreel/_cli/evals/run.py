"""``toolreel eval run``: make the runs of a plan that are missing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import err, labelled, out, printable
from toolreel._cli.errors import DRIFT, INTERRUPTED, json_option, reporting, say
from toolreel._cli.evals.dry_run import show_plan
from toolreel._cli.evals.plan_options import plan_options
from toolreel._cli.evals.progress import EvaluationProgress, connect_with_notices
from toolreel._internal import MissingExtra, counted
from toolreel.evals import sharded
from toolreel_core.evals import EvalPlan, acceptance, incompleteness

if TYPE_CHECKING:
    from toolreel.evals import EvaluationOutcome

_EPILOG = (
    "Exit codes: 0 complete, 2 usage, 3 incomplete: runs are missing or void (unless accepted), "
    "130 stopped with Ctrl-C."
)
_SHOWN = 3
"""Failures that are listed."""
_DETAILS = 2
"""The verbosity from which each run has a line."""
_KEY = 12
"""Hexadecimal digits of a key that identify a run."""


@click.command("run", epilog=_EPILOG)
@click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of the results. Runs of the plan that it already has are not repeated.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the runs, configurations, estimated cost and power of the plan; nothing is sent.",
)
@click.option("--no-cassettes", is_flag=True, help="Record no cassettes; these runs cannot be replayed.")
@click.option(
    "--shard",
    metavar="I/N",
    help="Make only the I-th of N parts of the runs, as on one of N machines; `eval summarize` joins them.",
)
@click.option("-v", "--verbose", is_flag=True, help="A line for each run, on a terminal too.")
@plan_options
@json_option
@reporting
def run_command(
    plan: EvalPlan,
    folder: Path | None,
    dry_run: bool,
    no_cassettes: bool,
    shard: str | None,
    verbose: bool,
    as_machine: bool,
) -> int:
    """Execute all runs of PLAN that are not in DIR yet, and store a record and a cassette of each.

    Run the same command again to resume after an interruption, to retry void runs, and to add trials, models
    or scenarios. PLAN is a TOML file. Options override it, and it overrides the environment.

    \b
    toolreel eval run --preset typical --dry-run
    toolreel eval run nightly.toml --strategies raw,production --trials 10 --out results
    toolreel eval run --model qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080 --out results
    """
    if dry_run:
        return show_plan(plan, as_machine=as_machine)
    if folder is None:
        raise click.UsageError("Missing option '--out': the directory of the results.")
    # Imported late, as HTTP and recordings are with it: --help needs none of that.
    from toolreel.evals import evaluate

    level = plan.options.verbosity
    if shard is not None:
        plan = sharded(plan, shard)
        if level:
            err.print(f"Shard {plan.shard}: {plan.count:,} of {plan.whole_count:,} runs")
    progress = EvaluationProgress(plan, lines=verbose or level >= _DETAILS, quiet=not level)
    with closing(connect_with_notices(plan)) as connection, progress.watching() as stop:
        outcome = evaluate(
            *(plan, folder, connection, None, progress, stop),
            cassettes=not no_cassettes,
        )
    try:
        from toolreel.evals import Results, write_summaries

        write_summaries(Results.open(folder), plan)
        unsummed = ""
    except MissingExtra:
        unsummed = "Not summed up here: intervals need pip install 'toolreel[evals]'."
    if as_machine:
        say(
            {
                "out": str(folder),
                "asked_for": plan.count,
                "made": outcome.made,
                "left": outcome.left,
                "void": outcome.void,
                **({"accepted_void": outcome.accepted} if plan.options.accept_void else {}),
                "complete": outcome.complete,
                **({"shard": str(plan.shard)} if plan.shard else {}),
                "stopped": outcome.stopped,
                "first_failed": [record.key for record in progress.failed],
            }
        )
    else:
        _tell(outcome, folder, progress, quiet=not level)
        if unsummed:
            err.print(unsummed, style="yellow")
    if progress.interrupted and not outcome.complete:
        return INTERRUPTED
    return 0 if outcome.complete else DRIFT


def _tell(outcome: EvaluationOutcome, folder: Path, progress: EvaluationProgress, *, quiet: bool) -> None:
    """What the evaluation came to, and what can be done next."""
    if outcome.stopped:
        err.print(f"Stopped: {outcome.stopped}.", style="yellow")
    for why in outcome.without_cassette[:_SHOWN]:
        err.print(printable(f"Not recorded: {why}"), style="yellow")
    options = outcome.plan.options
    if accepted := acceptance(outcome.trials, options):
        err.print(f"{accepted[0].upper()}{accepted[1:]}.", style="" if outcome.complete else "yellow")
    if lacks := incompleteness(outcome.trials, options.min_coverage):
        err.print(lacks, style="yellow")
    if quiet:
        return
    if outcome.made:
        out.print(f"{counted(outcome.made, 'run')} made: {progress.status_text}")
    elif outcome.complete:
        out.print("Nothing was left to be run.")
    place = quote(str(folder))
    labelled(out, "results", str(folder))
    following = f"toolreel eval summarize {place}\ntoolreel eval report {place}"
    if outcome.plan.shard:
        following = f"toolreel eval summarize {place} ... --out DIR  # with the other shards"
    labelled(out, "next", following)
    failed = [
        f"toolreel eval replay {place} {record.key[:_KEY]}  # {record.cell.model}, {record.cell.scenario}: "
        f"{record.verdict.category}"
        for record in progress.failed[:_SHOWN]
    ]
    if failed:
        labelled(out, "failed", "\n".join(failed))
