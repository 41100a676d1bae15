"""``toolreel eval run``: make the runs of a plan that are missing, and show their progress on stderr."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from shlex import quote
from threading import Event
from types import FrameType
from typing import Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from toolreel._cli.evals.plan_options import plan_options
from toolreel._cli.output.console import err, labelled, out, printable
from toolreel._cli.output.errors import DRIFT, json_option, reporting, say
from toolreel.evals._runner.adaptive import STOPPED, rule_of
from toolreel.evals._runner.connection import connect
from toolreel.evals._runner.evaluation import EvaluationOutcome, ExistingRuns, evaluate
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._statistics.stopping_rules import rule_sentence

_WORDS: Final = {
    "pass": "OK",
    "pass_unexercised": "OK*",
    "fail": "FAIL",
    "unsupported": "UNSUPPORTED",
    "void": "VOID",
}
_REASON_LENGTH: Final = 120
_KEPT: Final = 10


class EvaluationProgress:
    """Watches an evaluation.

    :param lines: whether each run has a line, on a terminal too
    """

    def __init__(self, total: int, *, lines: bool) -> None:
        self._total = total
        self._lines = lines or not err.is_terminal
        self._results: Counter[str] = Counter()
        self.failed: list[Record] = []
        """The first runs that failed."""
        self._before = 0
        self._since = time.monotonic()
        self._bar: Progress | None = None
        if err.is_terminal:
            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=err, transient=True)
            self._task = self._bar.add_task("", total=total)

    def found(self, found: ExistingRuns, /) -> None:
        """Print how many runs exist already."""
        self._before = len(found.ended)
        if found.ended or found.void or found.others:
            parts = [f"{len(found.ended)} of {self._total} runs have ended before"]
            parts += [f"{found.void} are void and made again"] if found.void else []
            parts += [f"{found.others} records are of other runs"] if found.others else []
            err.print("; ".join(parts))
        self._show()

    def ended(self, record: Record, /) -> None:
        """Count a run, and print its result."""
        self._results[record.verdict.result] += 1
        if record.verdict.result == "fail" and len(self.failed) < _KEPT:
            self.failed.append(record)
        if self._lines:
            err.print(printable(self._line(record)), style=_style(record))
        self._show()

    @contextmanager
    def watching(self) -> Generator[Event]:
        """Show the progress; Ctrl-C sets the event and lets runs in flight end, a second one aborts them."""
        stop = Event()

        def interrupted(_signal: int, _frame: FrameType | None) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            stop.set()
            err.print(
                "Stopping: what is under way still ends; Ctrl-C again gives it up. "
                "The same command goes on from there."
            )

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            with self._bar or nullcontext():
                yield stop
        except KeyboardInterrupt:
            err.print("Given up; every run that had ended is kept.")
            sys.exit(130)
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def status_text(self) -> str:
        """Counts, rate and remaining time in one line."""
        made = self._results.total()
        counts = ", ".join(f"{count} {_WORDS[result]}" for result, count in self._results.items())
        left = self._total - self._before - made
        spent = time.monotonic() - self._since
        rest = f", {_duration(spent / made * left)} left" if made and left else ""
        rate = f", {made / spent * 60:.1f} a minute" if made else ""
        return f"{counts or 'waiting for the first run'}{rate}{rest}"

    def _line(self, record: Record) -> str:
        cell, verdict = record.cell, record.verdict
        names = ":".join(part for part in (cell.model, cell.profile, cell.strategy, cell.fallback) if part)
        language = "" if cell.language == "off" else f" {cell.language}"
        why = verdict.category + (f": {verdict.reasons[0]}" if verdict.reasons else "")
        sample = f"  {why[:_REASON_LENGTH]}{'…' if len(why) > _REASON_LENGTH else ''}" if why else ""
        done = self._before + self._results.total()
        return (
            f"[{done}/{self._total}] {_WORDS[verdict.result]:<4} {names}{language} {cell.scenario} "
            f"trial {record.trial} {record.ms} ms{sample}"
        )

    def _show(self) -> None:
        if self._bar:
            done = self._before + self._results.total()
            self._bar.update(self._task, completed=done, description=self.status_text)


def _style(record: Record) -> str:
    return {"pass": "green", "fail": "red", "void": "yellow"}.get(record.verdict.result, "")


def _duration(seconds: float) -> str:
    """A duration in words.

    >>> _duration(50), _duration(700), _duration(20_000)
    ('50 s', '12 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_000 else f"{seconds / 3_600:.1f} h"


_EPILOG = "Exit codes: 0 complete, 2 usage, 3 incomplete: runs are missing or void."
_SHOWN = 3
"""Failures that are listed."""
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
    "--accept-changes", is_flag=True, help="Repeat runs whose configuration or scenario has changed."
)
@click.option("-v", "--verbose", is_flag=True, help="A line for each run, on a terminal too.")
@plan_options
@json_option
@reporting
def run_command(
    plan: EvalPlan, folder: Path, no_cassettes: bool, accept_changes: bool, verbose: bool, as_machine: bool
) -> int:
    """Execute all runs of PLAN that are not in DIR yet, and store a record and a cassette of each.

    Run the same command again to resume after an interruption, to retry void runs, and to add trials, models
    or scenarios.
    """
    if rule := rule_of(plan):
        err.print(rule_sentence(rule))
    progress = EvaluationProgress(plan.count, lines=verbose)
    with closing(connect(plan)) as connection, progress.watching() as stop:
        outcome = evaluate(
            *(plan, folder, connection, None, progress, stop),
            cassettes=not no_cassettes,
            accept_changes=accept_changes,
        )
    summed = _summed_up(folder, plan)
    if as_machine:
        failed = [record.key for record in progress.failed]
        say({"out": str(folder), **_tree(outcome), "first_failed": failed})
    else:
        _tell(outcome, folder, progress)
        if not summed:
            err.print("Not summed up here: intervals need pip install 'toolreel[evals]'.", style="yellow")
    return 0 if outcome.complete else DRIFT


def _summed_up(folder: Path, plan: EvalPlan) -> bool:
    """Write the summary files, if what computes intervals is installed."""
    from toolreel._internal.errors import MissingExtra

    try:
        from toolreel.evals._summary.export import write_summaries
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
        "spared": outcome.spared,
        "complete": outcome.complete,
        "stopped": outcome.stopped,
    }


def _tell(outcome: EvaluationOutcome, folder: Path, progress: EvaluationProgress) -> None:
    if outcome.made:
        out.print(f"{outcome.made} runs made: {progress.status_text}")
    elif outcome.complete:
        out.print("Nothing was left to be run.")
    if outcome.spared:
        out.print(f"{outcome.spared} runs of the plan are not needed: {folder / STOPPED} says why.")
    if outcome.stopped:
        err.print(f"Stopped: {outcome.stopped}.", style="yellow")
    for why in outcome.without_cassette[:_SHOWN]:
        err.print(printable(f"Not recorded: {why}"), style="yellow")
    if not outcome.complete:
        err.print(
            f"Incomplete: {outcome.left} runs were not made, {outcome.void} are void; "
            "run the same command again.",
            style="yellow",
        )
    place = quote(str(folder))
    labelled(out, "results", str(folder))
    labelled(out, "next", f"toolreel eval summarize {place}\ntoolreel eval report {place}")
    if failed := [_replaying(record, place) for record in progress.failed[:_SHOWN]]:
        labelled(out, "failed", "\n".join(failed))


def _replaying(record: Record, place: str) -> str:
    """The command that replays a run, with what is wrong with it."""
    what = f"{record.cell.model}, {record.cell.scenario}: {record.verdict.category}"
    return f"toolreel eval replay {place} {record.key[:_KEY]}  # {what}"
