"""``toolreel eval run``: make the runs of a plan that are missing, and show their progress on stderr."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import reduce
from itertools import starmap
from pathlib import Path
from shlex import quote
from textwrap import shorten
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from toolreel._cli.console import err, out, print_labelled, printable, withhold_secrets
from toolreel._cli.errors import DRIFT, INTERRUPTED, json_option, print_json, with_error_reporting
from toolreel._cli.options import NO_PRESETS, header_option, parse_settings, path_option
from toolreel._internal import EvalPlanError, MissingExtra, count_with_noun
from toolreel._secrets import key_notice, url_safe_to_log
from toolreel.evals import shard_plan
from toolreel_core._jsontext import Tree, merged
from toolreel_core.evals import (
    CONTROL_RUN,
    SETTINGS,
    TOOL_RUN,
    Estimate,
    EvalEndpoint,
    EvalPlan,
    PlanKey,
    Record,
    accepted_void_runs_sentence,
    estimate_cost,
    incompleteness_sentence,
    script_kind_of_model,
)

_Command: TypeAlias = Callable[..., int]


_FLAGS = {
    f"plan_{each.option.removeprefix('--').replace('-', '_')}": each for each in SETTINGS if each.option
}
_NUMBERS = {"count": int, "positive": int, "number": float, "seconds": float}


def eval_plan_options(command: _Command) -> _Command:
    """Give a command the options of a plan; :func:`plan_of_options` makes the plan of them."""
    decorators: list[Callable[[_Command], _Command]] = [
        click.argument("plan_path", metavar="[PLAN]", required=False, type=click.Path(path_type=Path)),
        *starmap(_click_option, _FLAGS.items()),
        header_option("plan_headers"),
        click.option(
            "--set",
            "plan_settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the loop (max_turns=5) or an option of the request (max_tokens=512).",
        ),
    ]
    for decorate in reversed(decorators):  # so that help lists them in this order
        command = decorate(command)
    return command


def plan_of_options(options: Mapping[str, Any]) -> EvalPlan:
    from toolreel.evals import load_eval_plan

    parsed = parse_settings(options["plan_settings"])
    for key in parsed.provider:
        what = "what a provider takes is up to the strategies; write one that says so"
        raise EvalPlanError(f"--set {key}: {what}")
    tables: Tree = {"loop": parsed.config, "sampling": parsed.options}
    variables = options["plan_headers"]
    headers: Tree = {"endpoint": {"headers_env": dict(variables)}} if variables else {}
    flags = _tree_of_flags({setting: options[name] for name, setting in _FLAGS.items()})
    return load_eval_plan(
        options["plan_path"],
        reduce(merged, (tables, headers, flags)),
        environ=os.environ,
        flags={setting.path: setting.option for setting in _FLAGS.values()},
    )


def _click_option(name: str, setting: PlanKey) -> Callable[[_Command], _Command]:
    switch, number = setting.kind == "switch", _NUMBERS.get(setting.kind)
    return click.option(
        f"{setting.option}/--no-{setting.option.removeprefix('--')}" if switch else setting.option,
        name,
        default=None,
        help=setting.about,
        # Words may come in one option or in several: otherwise all but the last would be lost.
        multiple=setting.kind in {"words", "tools"},
        type=number,
        metavar=None if switch or number else setting.kind.upper(),
    )


def _tree_of_flags(given: Mapping[PlanKey, Any]) -> Tree:
    tree: Tree = {}
    for setting, value in given.items():
        if value not in (None, ()):
            text = ",".join(value) if isinstance(value, tuple) else value
            tree = merged(tree, setting.tree(setting.parse_variable(text) if isinstance(text, str) else text))
    return tree


if TYPE_CHECKING:
    from toolreel.evals import Connection, EvaluationOutcome, ExistingRuns, Spending


def connect_with_notices(plan: EvalPlan) -> Connection:
    """Connect to a plan's endpoints; warn if a key can't be kept out of recordings, or no presets apply."""
    from toolreel.evals import connect

    connection = connect(plan)
    withhold_secrets(connection.secrets)
    if all(map(script_kind_of_model, plan.models)):
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


_WORDS = {
    "pass": ("OK", "green"),
    "pass_unexercised": ("OK*", ""),
    "fail": ("FAIL", "red"),
    "unsupported": ("UNSUPPORTED", ""),
    "void": ("VOID", "yellow"),
}


class EvaluationProgress:
    """Watches an evaluation of a plan; verbosity 2 is a line for each run, on a terminal too."""

    def __init__(self, plan: EvalPlan, verbosity: int) -> None:
        self._plan, self._verbosity = plan, verbosity
        self._results: Counter[str] = Counter()
        self._spending: Spending | None = None
        self.interrupted = False
        columns = (
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        drawn = err.is_terminal and not err.is_dumb_terminal and verbosity > 0
        self._lines = verbosity > 1 or (verbosity == 1 and not err.is_terminal)
        self._bar = Progress(*columns, console=err, transient=True, expand=True, disable=not drawn)
        self._task = self._bar.add_task("waiting for the first run", total=plan.count)

    def runs_found(self, found: ExistingRuns, /) -> None:
        self._spending = found.spending
        self._bar.update(self._task, completed=len(found.ended))
        if self._verbosity and (found.ended or found.void):
            again = f"; {found.void} are void and made again" if found.void else ""
            err.print(f"{len(found.ended)} of {self._plan.count} runs have ended before{again}")

    def run_ended(self, record: Record, /) -> None:
        cell, verdict = record.cell, record.verdict
        self._results[verdict.result] += 1
        self._bar.update(self._task, advance=1, description=self.status_text)
        if self._lines:
            names = ":".join(filter(None, (cell.model, cell.profile, cell.strategy, cell.endpoint)))
            word, style = _WORDS[verdict.result]
            why = shorten(": ".join((verdict.category, *verdict.reasons[:1])), 120, placeholder="…")
            run = f"[{self._bar.tasks[0].completed:.0f}/{self._plan.count}] {word:<4} {names}"
            told = f"{run} {cell.scenario} trial {record.trial} {record.ms} ms  {why}"
            err.print(printable(told.rstrip()), style=style)

    @contextmanager
    def show_until_interrupted(self) -> Generator[Event]:
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
            # Runs in flight are in daemon threads, which end with the process.
            sys.exit(INTERRUPTED)
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def status_text(self) -> str:
        counts = ", ".join(f"{count} {_WORDS[result][0]}" for result, count in self._results.items())
        cost, cap = self._spending.cost if self._spending else 0, self._plan.budget.max_cost
        return counts + (f", total cost {cost:.6g}{'' if cap is None else f' of {cap:g}'}" if cost else "")


def show_eval_plan(plan: EvalPlan, *, as_machine: bool) -> int:
    estimate = estimate_cost(plan)
    try:
        from toolreel.evals import gate_forecasts, power_sentence

        # Of all shards: gates are checked once they are joined.
        whole = replace(plan, shard=None)
        power, gates = power_sentence(whole), gate_forecasts(whole)
    except MissingExtra as missing:
        power, gates = f"unknown: {missing}", ()
    if as_machine:
        return print_json(
            {
                "digest": plan.digest,
                "runs": plan.count,
                "plan": plan.tree(),
                "estimate": asdict(estimate),
                "power": power,
                "gates": [*gates],
            }
        )
    factors = {
        "model and profile pairs": plan.pairs,
        "strategies": plan.strategies,
        "endpoints": plan.endpoints,
        "scenarios": plan.scenarios,
        "trials": range(plan.trials),
    }
    parts = " × ".join(f"{len(items)} {what}" for what, items in factors.items() if len(items) > 1)
    shard = f"{plan.count:,} in shard {plan.shard}, of " if plan.shard else ""
    tokens = f"{estimate.prompt_tokens:,.0f} tokens in, {estimate.completion_tokens:,.0f} out"
    scripted = "none: all models are scripted" if all(map(script_kind_of_model, plan.models)) else ""
    caps = {
        **plan.budget.tree(),
        **{f"run.{key}": cap for key, cap in plan.options.run_budget.tree().items()},
    }
    rows = (
        ("runs", f"{shard}{plan.whole_count:,} = {parts or '1'}"),
        ("strategies", ", ".join(strategy.name for strategy in plan.strategies)),
        ("scenarios", ", ".join(scenario.name for scenario in plan.scenarios)),
        *(
            (f"at {name}" if name else "endpoint", scripted or _endpoint_description(each))
            for name, each in plan.endpoints.items()
        ),
        ("plan", plan.digest[:12]),
        *(
            ("model", f"{model}: {', '.join(profile.name for profile in profiles)}")
            for model, profiles in plan.profiles.items()
        ),
        ("estimate", f"{estimate.requests:,.0f} requests, {tokens}, {estimate.minutes:,.0f} minutes"),
        ("", f"if a tool run is {TOOL_RUN}, and a control run {CONTROL_RUN}"),
        ("cost", _cost_text(estimate)),
        ("budget", ", ".join(f"{key} {cap:g}" for key, cap in caps.items()) or "no cap"),
        *(("gate", sentence) for sentence in gates),
        ("power", power),
    )
    for label, text in rows:
        print_labelled(label, text)
    return 0


def _endpoint_description(endpoint: EvalEndpoint) -> str:
    header = endpoint.api_key_header
    where = "" if header.lower() == "authorization" else f" in {header}"
    return ", ".join(
        (
            url_safe_to_log(endpoint.chat_url),
            endpoint.provider or "a provider of which nothing is known (--provider)",
            f"key from {endpoint.api_key_env}{where}" if endpoint.api_key_env else "without a key",
            *(f"{name} from {variable}" for name, variable in endpoint.headers_env),
        )
    )


def _cost_text(estimate: Estimate) -> str:
    if estimate.cost is None:
        return 'unknown: the plan has no prices; give them as [prices."MODEL"]'
    more = f" and more: no price of {', '.join(estimate.unpriced)}" if estimate.unpriced else ""
    return f"{estimate.cost:,.2f}{more}"


_EPILOG = (
    "Exit codes: 0 complete, 2 usage, 3 incomplete: runs are missing or void (unless accepted), "
    "130 stopped with Ctrl-C."
)


@click.command("run", epilog=_EPILOG)
@path_option(
    "--out",
    "folder",
    "DIR",
    "Directory of the results. Runs of the plan that it already has are not repeated.",
    folder=True,
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
@with_error_reporting
@eval_plan_options
def run_command(
    folder: Path | None,
    dry_run: bool,
    shard: str | None,
    as_machine: bool,
    **options: Any,  # noqa: ANN401 - click hands over every option by name
) -> int:
    """Execute all runs of PLAN that are not in DIR yet, and store a record and a cassette of each.

    Run the same command again to resume after an interruption, to retry void runs, and to add trials, models
    or scenarios. PLAN is a TOML file. Options override it, and it overrides the environment.

    \b
    toolreel eval run --preset typical --dry-run
    toolreel eval run nightly.toml --strategies raw,production --trials 10 --out results
    toolreel eval run --model qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080 --out results
    """
    plan = plan_of_options(options)
    if shard is not None:
        plan = shard_plan(plan, shard)
    if dry_run:
        return show_eval_plan(plan, as_machine=as_machine)
    if folder is None:
        raise click.UsageError("Missing option '--out': the directory of the results.")
    # Imported late, as HTTP and recordings are with it: --help needs none of that.
    from toolreel.evals import evaluate

    progress = EvaluationProgress(plan, plan.options.verbosity)
    with closing(connect_with_notices(plan)) as connection, progress.show_until_interrupted() as stop:
        outcome = evaluate(plan, folder, connection, None, progress, stop)
    try:
        from toolreel.evals import Results, write_summaries

        write_summaries(Results.open(folder), plan)
    except MissingExtra:
        err.print("Not summed up here: intervals need pip install 'toolreel[evals]'.", style="yellow")
    if as_machine:
        counts = {name: getattr(outcome, name) for name in ("made", "left", "void", "complete", "stopped")}
        of_plan = {"out": folder, "asked_for": plan.count, "shard": str(plan.shard or "")}
        print_json({**of_plan, **counts, "accepted_void": outcome.accepted})
    else:
        _show_outcome(outcome, folder, progress)
    if progress.interrupted and not outcome.complete:
        return INTERRUPTED
    return 0 if outcome.complete else DRIFT


def _show_outcome(outcome: EvaluationOutcome, folder: Path, progress: EvaluationProgress) -> None:
    options = outcome.plan.options
    accepted = accepted_void_runs_sentence(outcome.trials, options)
    notices = (
        outcome.stopped and f"Stopped: {outcome.stopped}.",
        *(f"Not recorded: {why}" for why in outcome.without_cassette[:3]),
        accepted and f"{accepted}.",
        incompleteness_sentence(outcome.trials, options.min_coverage),
    )
    for notice in filter(None, notices):
        err.print(printable(notice), style="yellow")
    if not options.verbosity:
        return
    if outcome.made:
        out.print(f"{count_with_noun(outcome.made, 'run')} made: {progress.status_text}")
    elif outcome.complete:
        out.print("Nothing was left to be run.")
    place = quote(str(folder))
    following = f"toolreel eval summarize {place}\ntoolreel eval report {place}"
    if outcome.plan.shard:
        following = f"toolreel eval summarize {place} ... --out DIR  # with the other shards"
    print_labelled("results", str(folder))
    print_labelled("next", following)
