"""``toolreel eval run``: make the runs of a plan that are missing, and show their progress on stderr."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from textwrap import shorten
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Final

import click
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from toolreel._cli.console import err, labelled, out, printable, withhold
from toolreel._cli.errors import DRIFT, INTERRUPTED, json_option, reporting, say
from toolreel._cli.evals.plan_options import plan_options
from toolreel._cli.options import NO_PRESETS
from toolreel._internal import MissingExtra, counted
from toolreel._secrets import key_notice, shown_url
from toolreel.evals import shard_plan
from toolreel_core.evals import (
    CONTROL_RUN,
    TOOL_RUN,
    Endpoint,
    Estimate,
    EvalPlan,
    Record,
    acceptance_sentence,
    estimate_cost,
    incompleteness_sentence,
    kind_of,
)

if TYPE_CHECKING:
    from toolreel.evals import Connection, EvaluationOutcome, ExistingRuns, Spending


def connect_with_notices(plan: EvalPlan) -> Connection:
    """The way to a plan's endpoint; says so if its key is not kept out of recordings, or no presets apply.

    :raises EndpointConfigError: if the variable of the key or a header is not set, and not all models are
        scripts
    """
    from toolreel.evals import connect

    connection = connect(plan)
    withhold(connection.secrets)
    if all(map(kind_of, plan.models)):
        return connection
    keys = [each.api_key_env for each in plan.endpoints.values()]
    keys += [name for each in plan.endpoints.values() for _, name in each.headers_env]
    for name in dict.fromkeys(keys):
        if notice := key_notice(name, os.environ.get(name, "")):
            err.print(notice, style="yellow")
    unnamed = not all(each.provider for each in plan.endpoints.values())
    if unnamed and any(each.defaults for each in plan.strategies):
        err.print(NO_PRESETS, style="yellow")
    return connection


_WORDS: Final = {
    "pass": ("OK", "green"),
    "pass_unexercised": ("OK*", ""),
    "fail": ("FAIL", "red"),
    "unsupported": ("UNSUPPORTED", ""),
    "void": ("VOID", "yellow"),
}
"""What a result is called, and its colour."""


class EvaluationProgress:
    """Watches an evaluation of a plan.

    :param verbosity: 0 shows nothing but what Ctrl-C does, 2 a line for each run, on a terminal too
    """

    def __init__(self, plan: EvalPlan, verbosity: int) -> None:
        self._total, self._max_cost = plan.count, plan.budget.max_cost
        self._quiet = not verbosity
        self._lines = verbosity > 1 or not (self._quiet or err.is_terminal)
        self._results: Counter[str] = Counter()
        self.interrupted = False
        self._spending: Spending | None = None
        columns = (
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        shown = err.is_terminal and not err.is_dumb_terminal and not self._quiet
        self._bar = Progress(*columns, console=err, transient=True, expand=True, disable=not shown)
        self._task = self._bar.add_task("waiting for the first run", total=self._total)

    def runs_found(self, found: ExistingRuns, /) -> None:
        """Print how many runs exist already."""
        self._spending = found.spending
        self._bar.update(self._task, completed=len(found.ended))
        if not self._quiet and (found.ended or found.void):
            again = f"; {found.void} are void and made again" if found.void else ""
            err.print(f"{len(found.ended)} of {self._total} runs have ended before{again}")

    def run_ended(self, record: Record, /) -> None:
        """Count a run, and print its result."""
        cell, verdict = record.cell, record.verdict
        self._results[verdict.result] += 1
        if self._lines:
            done = int(self._bar.tasks[0].completed) + 1
            names = ":".join(filter(None, (cell.model, cell.profile, cell.strategy, cell.endpoint)))
            word, style = _WORDS[verdict.result]
            run = f"[{done}/{self._total}] {word:<4} {names} {cell.scenario} trial {record.trial}"
            why = shorten(": ".join((verdict.category, *verdict.reasons[:1])), 120, placeholder="…")
            err.print(printable(f"{run} {record.ms} ms  {why}".rstrip()), style=style)
        self._bar.update(self._task, advance=1, description=self.status_text)

    @contextmanager
    def watching(self) -> Generator[Event]:
        """Show the progress; Ctrl-C sets the event and lets runs in flight end, a second one aborts them."""
        stop = Event()

        def interrupt(_signal: int, _frame: FrameType | None) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            stop.set()
            self.interrupted = True
            err.print(
                "Stopping: what is under way still ends; Ctrl-C again gives it up. "
                "The same command goes on from there."
            )

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            with self._bar:
                yield stop
        except KeyboardInterrupt:
            err.print("Given up; every run that had ended is kept.")
            sys.exit(INTERRUPTED)
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def status_text(self) -> str:
        """Counts, and what all runs have cost, those made before too."""
        counts = ", ".join(f"{count} {_WORDS[result][0]}" for result, count in self._results.items())
        cost = self._spending.cost if self._spending else 0
        limit = "" if self._max_cost is None else f" of {self._max_cost:g}"
        return counts + (f", cost {cost:.6g}{limit}" if cost else "")


def show_plan(plan: EvalPlan, *, as_machine: bool) -> int:
    """Show the runs and the estimated cost of an evaluation."""
    estimate = estimate_cost(plan)
    try:
        from toolreel.evals import gate_forecasts, power_sentence

        power, gates = power_sentence(plan), gate_forecasts(plan)
    except MissingExtra as missing:
        power, gates = f"unknown: {missing}", ()
    if as_machine:
        return say(
            {
                "digest": plan.digest,
                "runs": plan.count,
                "plan": plan.tree(),
                "estimate": asdict(estimate),
                "power": power,
                "gates": [*gates],
            }
        )
    factors = (
        (len(plan.pairs), "model and profile pairs"),
        (len(plan.strategies), "strategies"),
        (len(plan.endpoints), "endpoints"),
        (len(plan.scenarios), "scenarios"),
        (plan.trials, "trials"),
    )
    parts = " × ".join(f"{count} {what}" for count, what in factors if count > 1)
    labelled("runs", f"{plan.count:,} = {parts or '1'}")
    labelled("strategies", ", ".join(strategy.name for strategy in plan.strategies))
    labelled("scenarios", ", ".join(scenario.name for scenario in plan.scenarios))
    scripts = all(map(kind_of, plan.models))
    for name, endpoint in plan.endpoints.items():
        label = f"at {name}" if name else "endpoint"
        labelled(label, "none: all models are scripted" if scripts else _server_text(endpoint))
    labelled("plan", plan.digest[:12])
    for model, profiles in plan.profiles.items():
        labelled("model", f"{model}: {', '.join(profile.name for profile in profiles)}")
    _show_estimate(plan, estimate)
    for sentence in gates:
        labelled("gate", sentence)
    labelled("power", power)
    return 0


def _server_text(endpoint: Endpoint) -> str:
    header = endpoint.api_key_header
    where = "" if header.lower() == "authorization" else f" in {header}"
    return ", ".join(
        (
            shown_url(endpoint.chat_url),
            endpoint.provider or "a provider of which nothing is known (--provider)",
            f"key from {endpoint.api_key_env}{where}" if endpoint.api_key_env else "without a key",
            *(f"{name} from {variable}" for name, variable in endpoint.headers_env),
        )
    )


def _show_estimate(plan: EvalPlan, estimate: Estimate) -> None:
    tokens = f"{estimate.prompt_tokens:,.0f} tokens in, {estimate.completion_tokens:,.0f} out"
    labelled("estimate", f"{estimate.requests:,.0f} requests, {tokens}, {estimate.minutes:,.0f} minutes")
    labelled("", f"if a tool run is {TOOL_RUN}, and a control run {CONTROL_RUN}", "dim")
    if estimate.cost is None:
        labelled("cost", 'unknown: the plan has no prices; give them as [prices."MODEL"]')
    else:
        more = f" and more: no price of {', '.join(estimate.unpriced)}" if estimate.unpriced else ""
        labelled("cost", f"{estimate.cost:,.2f}{more}")
    run = {f"run.{key}": cap for key, cap in plan.options.run_budget.tree().items()}
    caps = [f"{key} {cap:g}" for key, cap in {**plan.budget.tree(), **run}.items()]
    labelled("budget", ", ".join(caps) or "no cap")


_EPILOG = (
    "Exit codes: 0 complete, 2 usage, 3 incomplete: runs are missing or void (unless accepted), "
    "130 stopped with Ctrl-C."
)


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
    help="Show the runs, estimated cost and power of the plan; nothing is sent.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Make only the I-th of N parts of the runs, as on one of N machines; `eval summarize` joins them.",
)
@json_option
@reporting
@plan_options
def run_command(
    plan: EvalPlan,
    folder: Path | None,
    dry_run: bool,
    shard: str | None,
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

    if shard is not None:
        plan = shard_plan(plan, shard)
    progress = EvaluationProgress(plan, plan.options.verbosity)
    with closing(connect_with_notices(plan)) as connection, progress.watching() as stop:
        outcome = evaluate(plan, folder, connection, None, progress, stop)
    try:
        from toolreel.evals import Results, write_summaries

        write_summaries(Results.open(folder), plan)
    except MissingExtra:
        err.print("Not summed up here: intervals need pip install 'toolreel[evals]'.", style="yellow")
    if as_machine:
        say(
            {
                "out": str(folder),
                "asked_for": plan.count,
                "made": outcome.made,
                "left": outcome.left,
                "void": outcome.void,
                "accepted_void": outcome.accepted,
                "complete": outcome.complete,
                "shard": str(plan.shard or ""),
                "stopped": outcome.stopped,
            }
        )
    else:
        _show_outcome(outcome, folder, progress)
    if progress.interrupted and not outcome.complete:
        return INTERRUPTED
    return 0 if outcome.complete else DRIFT


def _show_outcome(outcome: EvaluationOutcome, folder: Path, progress: EvaluationProgress) -> None:
    options = outcome.plan.options
    notices = (
        f"Stopped: {outcome.stopped}." if outcome.stopped else "",
        *(f"Not recorded: {why}" for why in outcome.without_cassette[:3]),
        f"{accepted}." if (accepted := acceptance_sentence(outcome.trials, options)) else "",
        incompleteness_sentence(outcome.trials, options.min_coverage),
    )
    for notice in filter(None, notices):
        err.print(printable(notice), style="yellow")
    if not options.verbosity:
        return
    if outcome.made:
        out.print(f"{counted(outcome.made, 'run')} made: {progress.status_text}")
    elif outcome.complete:
        out.print("Nothing was left to be run.")
    place = quote(str(folder))
    labelled("results", str(folder))
    following = f"toolreel eval summarize {place}\ntoolreel eval report {place}"
    if outcome.plan.shard:
        following = f"toolreel eval summarize {place} ... --out DIR  # with the other shards"
    labelled("next", following)
