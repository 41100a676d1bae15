"""``toolreel eval run``: run an evaluation, or continue it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from threading import Event

import click

from toolreel._cli.evals.options import plan_options
from toolreel._cli.evals.progress import EvaluationProgress, stoppable
from toolreel._cli.output.console import err, labelled, out, printable
from toolreel._cli.output.errors import DRIFT, json_option, reporting, say
from toolreel.evals._runner.adaptive import STOPPED, rule_of
from toolreel.evals._runner.endpoint import header_of, line_of
from toolreel.evals._runner.evaluation import Ending, evaluate
from toolreel_core.evals._plan.plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._statistics.stopping_rules import in_words

__all__ = ["eval_run_command"]

_EPILOG = "Exit codes: 0 complete, 2 usage, 3 incomplete: runs are missing or void."
_SHOWN = 3
"""Failures that are printed individually."""
_KEY = 12
"""Hexadecimal digits of a key that identify a run."""


@click.command("run", epilog=_EPILOG, short_help="Run an evaluation, or the runs that are missing.")
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of the results. Runs of the plan that it has already are not repeated.",
)
@click.option(
    "--no-cassettes", is_flag=True, help="Do not record cassettes; the runs cannot be replayed then."
)
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Repeat runs whose configuration or scenario has changed.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print a line per run on a terminal too.")
@plan_options
@json_option
@reporting
def eval_run_command(
    plan: EvalPlan,
    folder: Path,
    no_cassettes: bool,
    accept_changes: bool,
    verbose: bool,
    as_machine: bool,
) -> int:
    """Run all runs of PLAN that are not in DIR yet; keep a record and a cassette of each.

    Run the same command again to continue after an interruption, to retry void runs, or to extend the
    evaluation by more trials, models or scenarios.

    \b
    toolreel eval run --model scripted:good --out results
    toolreel eval run nightly.toml --trials 10 --out results
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    stop = Event()
    if rule := rule_of(plan):
        err.print(in_words(rule))
    with (
        EvaluationProgress(plan.count, lines=verbose) as progress,
        closing(line_of(plan)) as line,
        stoppable(stop, progress),
    ):
        ending = evaluate(
            plan,
            folder,
            line,
            header_of(plan, datetime.now(UTC)),
            progress,
            stop,
            cassettes=not no_cassettes,
            accept_changes=accept_changes,
        )
    summed = _summed_up(folder, plan)
    if as_machine:
        failed = [record.key for record in progress.failed]
        say({"out": str(folder), **_tree(ending), "first_failed": failed})
    else:
        _show(ending, folder, progress)
        if not summed:
            err.print(
                "Not summarized: confidence intervals need pip install 'toolreel[evals]'.", style="yellow"
            )
    return 0 if ending.complete else DRIFT


def _summed_up(folder: Path, plan: EvalPlan) -> bool:
    """Write the summary files, if the extra ``evals`` is installed."""
    from toolreel._errors import MissingExtra

    try:
        from toolreel.evals._summary.export import write_summaries
    except MissingExtra:
        return False
    from toolreel.evals._store.results import Results

    write_summaries(Results.open(folder), plan)
    return True


def _tree(ending: Ending) -> dict[str, bool | int | str]:
    return {
        "asked_for": ending.asked_for,
        "made": ending.made,
        "left": ending.left,
        "void": ending.void,
        "spared": ending.spared,
        "complete": ending.complete,
        "stopped": ending.stopped,
    }


def _show(ending: Ending, folder: Path, progress: EvaluationProgress) -> None:
    if ending.made:
        out.print(f"{ending.made} runs made: {progress.status}")
    elif ending.complete:
        out.print("All runs exist already.")
    if ending.spared:
        out.print(f"{ending.spared} runs were skipped by the stopping rule: see {folder / STOPPED}.")
    if ending.stopped:
        err.print(f"Stopped: {ending.stopped}.", style="yellow")
    for why in ending.without_cassette[:_SHOWN]:
        err.print(printable(f"Not recorded: {why}"), style="yellow")
    if not ending.complete:
        err.print(
            f"Incomplete: {ending.left} runs were not made, {ending.void} are void; "
            "run the same command again.",
            style="yellow",
        )
    place = quote(str(folder))
    labelled(out, "results", str(folder))
    labelled(out, "next", f"toolreel eval summarize {place}\ntoolreel eval report {place}")
    if failed := [_replaying(record, place) for record in progress.failed[:_SHOWN]]:
        labelled(out, "failed", "\n".join(failed))


def _replaying(record: Record, place: str) -> str:
    """The command that replays a failed run, with a comment why it failed."""
    what = f"{record.cell.model}, {record.cell.scenario}: {record.verdict.category}"
    return f"toolreel eval replay {place} {record.key[:_KEY]}  # {what}"
