"""``toolreel eval run``: make the runs of a plan that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import counted, err, labelled, out, printable
from toolreel._cli.errors import DRIFT, INTERRUPTED, json_option, reporting, say
from toolreel._cli.evals.live.connection_notices import connect_with_notices
from toolreel._cli.evals.live.progress import EvaluationProgress
from toolreel._cli.evals.plan_options import plan_options
from toolreel._cli.run_options import database_option
from toolreel.evals._runner.adaptive import STOPPED, rule_of
from toolreel.evals._runner.sharding import sharded
from toolreel.evals._store.packs import MANY_RUNS
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._statistics.declared_stopping_rules import rule_sentence

if TYPE_CHECKING:
    from toolreel.evals._runner.evaluation import EvaluationOutcome, Pool
    from toolreel.evals._store.recordings import RecordingForm

_EPILOG = (
    "Exit codes: 0 complete, 2 usage, 3 incomplete: runs are missing or void (unless accepted), "
    "130 stopped with Ctrl-C."
)
_SHOWN = 3
"""Failures that are listed."""
_DETAILS = 2
"""The verbosity from which each run has a line."""
_FORMS: Final[Mapping[str, bool | RecordingForm]] = {"auto": True, "packs": "packs", "files": "files"}
_KEY = 12
"""Hexadecimal digits of a key that identify a run."""


@click.command("run", epilog=_EPILOG, short_help="Make the runs of a plan, or those that are missing.")
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of the results. Runs of the plan that it already has are not repeated.",
)
@click.option("--no-cassettes", is_flag=True, help="Record no cassettes; these runs cannot be replayed.")
@click.option(
    "--recordings",
    type=click.Choice([*_FORMS]),
    default="auto",
    help="files: a cassette a run; packs: hundreds of runs a file. auto takes packs for a plan of more than "
    f"{MANY_RUNS:,} runs, or where DIR has some.",
)
@click.option(
    "--accept-changes", is_flag=True, help="Repeat runs whose configuration or scenario has changed."
)
@click.option(
    "--accept-endpoint-change",
    is_flag=True,
    help="Continue although an endpoint has another URL than the runs in DIR.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Make only the I-th of N parts of the runs, as on one of N machines; `eval merge` joins them.",
)
@click.option(
    "--durable",
    is_flag=True,
    help="Keep the runs in --database, where other processes make some of them (toolreel eval work). Needs "
    "the extra durable.",
)
@database_option
@click.option("-v", "--verbose", is_flag=True, help="A line for each run, on a terminal too.")
@plan_options
@json_option
@reporting
def run_command(  # noqa: PLR0913, PLR0917 - one for each option
    plan: EvalPlan,
    folder: Path,
    no_cassettes: bool,
    recordings: str,
    accept_changes: bool,
    accept_endpoint_change: bool,
    shard: str | None,
    durable: bool,
    database: str | None,
    verbose: bool,
    as_machine: bool,
) -> int:
    """Execute all runs of PLAN that are not in DIR yet, and store a record and a cassette of each.

    Run the same command again to resume after an interruption, to retry void runs, and to add trials, models
    or scenarios.
    """
    # Imported late, as HTTP and recordings are with it: --help needs none of that.
    from toolreel.evals._runner.evaluation import evaluate, in_threads

    if durable and recordings == "packs":
        raise click.UsageError("--durable writes files, as several processes can; run `eval pack` later")
    level = plan.options.verbosity
    if shard is not None:
        plan = sharded(plan, shard)
        if level:
            err.print(f"Shard {plan.shard}: {plan.count:,} of {plan.whole_count:,} runs")
    if (rule := rule_of(plan)) and level:
        err.print(rule_sentence(rule))
    progress = EvaluationProgress(plan, lines=verbose or level >= _DETAILS, quiet=not level)
    with closing(connect_with_notices(plan)) as connection, progress.watching() as stop:
        outcome = evaluate(
            *(plan, folder, connection, None, progress, stop),
            cassettes=not no_cassettes and ("files" if durable else _FORMS[recordings]),
            accept_changes=accept_changes,
            accept_endpoint_change=accept_endpoint_change,
            pool=_shared(folder, database) if durable else in_threads,
        )
    summed = _summed_up(folder, plan)
    if as_machine:
        failed = [record.key for record in progress.failed]
        say({"out": str(folder), **_tree(outcome), "first_failed": failed})
    else:
        _tell_problems(outcome)
        if level:
            _tell(outcome, folder, progress)
        if not summed:
            err.print("Not summed up here: intervals need pip install 'toolreel[evals]'.", style="yellow")
    if progress.interrupted and not outcome.complete:
        return INTERRUPTED
    return 0 if outcome.complete else DRIFT


def _shared(folder: Path, database: str | None) -> Pool:
    """What makes runs together with other processes."""
    from toolreel.evals._runner.durable_pool import DurablePool

    return partial(DurablePool, folder, database)


def _summed_up(folder: Path, plan: EvalPlan) -> bool:
    """Write the summary files, if what computes intervals is installed."""
    from toolreel._internal.errors import MissingExtra

    try:
        from toolreel.evals._summary.summary_files import write_summaries
    except MissingExtra:
        return False
    from toolreel.evals._store.results import Results

    write_summaries(Results.open(folder), plan)
    return True


def _tree(outcome: EvaluationOutcome) -> dict[str, bool | int | str]:
    return {
        "asked_for": outcome.required_runs,
        "made": outcome.made,
        "left": outcome.left,
        "void": outcome.void,
        **({"accepted_void": outcome.accepted} if outcome.accepted_voids.categories else {}),
        "spared": outcome.spared,
        "complete": outcome.complete,
        **({"shard": outcome.shard} if outcome.shard else {}),
        "stopped": outcome.stopped,
    }


def _tell(outcome: EvaluationOutcome, folder: Path, progress: EvaluationProgress) -> None:
    if outcome.made:
        out.print(f"{counted(outcome.made, 'run')} made: {progress.status_text}")
    elif outcome.complete:
        out.print("Nothing was left to be run.")
    if outcome.spared:
        out.print(f"Runs of the plan that are not needed: {outcome.spared}; {folder / STOPPED} says why.")
    place = quote(str(folder))
    labelled(out, "results", str(folder))
    others = [f"toolreel eval merge {place} ... --out DIR  # with the other shards"] if outcome.shard else []
    following = (*others, f"toolreel eval summarize {place}", f"toolreel eval report {place}")
    labelled(out, "next", "\n".join(following))
    if failed := [_replaying(record, place) for record in progress.failed[:_SHOWN]]:
        labelled(out, "failed", "\n".join(failed))


def _tell_problems(outcome: EvaluationOutcome) -> None:
    if outcome.stopped:
        err.print(f"Stopped: {outcome.stopped}.", style="yellow")
    for why in outcome.without_cassette[:_SHOWN]:
        err.print(printable(f"Not recorded: {why}"), style="yellow")
    if accepted := outcome.accepted_voids.sentence(outcome.accepted, outcome.required_runs):
        err.print(f"{accepted[0].upper()}{accepted[1:]}.", style="" if outcome.covered else "yellow")
    if outcome.left or outcome.void:
        err.print(
            f"Incomplete (runs not made: {outcome.left}, void: {outcome.void}); run the same command again.",
            style="yellow",
        )


def _replaying(record: Record, place: str) -> str:
    """The command that replays a run, with what is wrong with it."""
    what = f"{record.cell.model}, {record.cell.scenario}: {record.verdict.category}"
    return f"toolreel eval replay {place} {record.key[:_KEY]}  # {what}"
