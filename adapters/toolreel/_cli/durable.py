"""``toolreel durable``: submit runs, look at them and speak with them from any process, and perform them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import click

from toolreel._agent import Fallback, OfferedTools
from toolreel._cli.console import err, log_json, out, print_labelled, show_columns, withhold_secrets
from toolreel._cli.errors import FAILED, command, json_option, print_json
from toolreel._cli.options import (
    LiveTarget,
    Texts,
    fallback_option,
    model_option,
    parse_key_values,
    parsing_callback,
    port_option,
    server_options,
)
from toolreel._cli.recordings import export_options, write_export
from toolreel._cli.run_options import (
    PlanChoice,
    SourceChoice,
    Sources,
    database_option,
    open_durable_runs,
    plan_options,
    queue_option,
    read_prompt,
    source_options,
)
from toolreel._cli.whole_run import run_as_json, show_run
from toolreel._driver import Always, Approver, Endpoint, Endpoints, Later, Never, Ports
from toolreel._internal import count_with_noun
from toolreel.tools import Router
from toolreel_core._errors import ConfigError
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel._cli.live_run import LiveSession
    from toolreel.durable import DurableRun, DurableRuns, RunSummary
    from toolreel_core._plan import Plan


_STATUSES = ("queued", "running", "waiting", "ended", "failed", "refused")
_GOING_ON = frozenset({"queued", "running"})
_run_argument = click.argument("run_id", metavar="RUN")


def _pass_durable_runs(command: Callable[..., int]) -> Callable[..., int]:
    @database_option
    @wraps(command)
    def with_runs(database: str | None, **options: object) -> int:
        with open_durable_runs(database) as runs:
            return command(runs=runs, **options)

    return with_runs


@command("submit")
@click.argument("prompt")
@model_option()
@source_options
@plan_options()
@fallback_option
@database_option
@queue_option
@click.option(
    "--run-id",
    metavar="ID",
    help="Id of the run, such as that of your job: submitting it twice is submitting it once. By default, a "
    "random one.",
)
@json_option
def submit_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    sources: SourceChoice,
    wanted: PlanChoice,
    fallbacks: tuple[Fallback, ...],
    database: str | None,
    queue: str,
    run_id: str | None,
    as_machine: bool,
) -> int:
    """Queue a durable run, and print its id.

    PROMPT is the user message; - reads it from stdin. Name the same tools and fallbacks as the worker: the
    model is shown the tools as they are here, and a worker without them refuses the run.

    \b
    toolreel durable submit "Order a pin." --model your-model \\
        --tools my_tools:TOOLS --run-id order-7
    toolreel durable show order-7 --wait
    """
    with redirect_stdout(sys.stderr), sources.open() as available:
        plan = wanted.make_plan(model, read_prompt(prompt), available, fallbacks)
    with open_durable_runs(database) as runs:
        named = runs.submit(plan, run_id, queue=queue)
    if as_machine:
        return print_json({"run_id": named, "plan": plan.digest, "queue": queue})
    print_labelled("submitted", named, "bold")
    print_labelled("", f"next: toolreel durable show {named} (toolreel durable worker performs it)", "dim")
    return 0


@command("adopt")
@click.argument("slots", metavar="[SLOT]...", nargs=-1)
@click.option(
    "--failed",
    "failed",
    multiple=True,
    metavar="RUN",
    help="Queue a failed or refused run again. Repeatable.",
)
@queue_option
@_pass_durable_runs
def adopt_command(runs: DurableRuns, slots: Texts, failed: Texts, queue: str) -> int:
    """Queue the runs again that workers left behind which do not come back, or runs that failed.

    SLOT is the name of such a worker, as in its --slot. A worker that is alive keeps its runs: then this is
    an error, and nothing changes. One that starts again with its slot takes up its runs without this. With
    --failed, a run that failed or was refused goes on, once you have mended what stopped it. Nothing that is
    stored is repeated.

    \b
    toolreel durable adopt worker-3
    toolreel durable adopt --failed order-7
    """
    if not slots and not failed:
        raise click.UsageError("name the SLOT of a worker that is gone, or a run with --failed RUN")
    known = [runs.summary(run_id) for run_id in failed]  # an unknown one raises before anything is done
    for slot in slots:
        found = runs.adopt(slot, queue=queue)
        print_labelled("adopted", f"{slot}: {', '.join(found) if found else 'it left no runs'}")
    for run in known:
        runs.resume(run.run_id)
        print_labelled("queued", run.run_id)
        _print_next(run)
    return 0


@command("list")
@click.option("--status", type=click.Choice(_STATUSES), help="Only runs with this status.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, help="Maximum number of runs.")
@click.option(
    "--prune",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="First delete the runs that ended at least this many days ago, with all that is stored of them; "
    "those that wait or failed stay.",
)
@json_option
@_pass_durable_runs
def list_command(
    runs: DurableRuns, status: str | None, limit: int, prune: float | None, as_machine: bool
) -> int:
    """List the runs, the newest first, with what each waits for, and how many have which status.

    \b
    toolreel durable list --status waiting
    toolreel durable list --prune 30
    """
    deleted = None if prune is None else runs.prune(prune * 86_400)
    found, counts = runs.list(status=status, limit=limit), runs.counts()
    if as_machine:
        pruned = {} if deleted is None else {"deleted": deleted}
        print_json({"runs": found, "counts": counts, **pruned})
        return 0
    if deleted is not None:
        print_labelled("deleted", count_with_noun(deleted, "run"))
    if found:
        columns = ("run", "status", "model", "outcome", "submitted", "")
        show_columns(columns, [*map(_table_row_of_run, found)])
        print_labelled("all", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())), "dim")
    else:
        print_labelled("runs", "none; queue one with toolreel durable submit")
    return 0


def _table_row_of_run(run: RunSummary) -> Sequence[str]:
    calls = ", ".join(f"{call.name}: {call.why}" for call in run.waits_for)
    last = calls or run.problem.partition(";")[0]
    return run.run_id, run.status, run.model, run.outcome, f"{run.created:%Y-%m-%d %H:%M}", last


@command("show")
@_run_argument
@click.option("--wait", is_flag=True, help="First wait until it has ended, or waits for you.")
@json_option
@_pass_durable_runs
def show_command(runs: DurableRuns, run_id: str, wait: bool, as_machine: bool) -> int:
    """Show what a run did so far, turn by turn, its outcome, and what it waits for.

    \b
    toolreel durable show order-7
    timeout 60 toolreel durable show order-7 --wait
    """
    return print_run(runs.wait(run_id) if wait else runs.get(run_id), as_machine=as_machine)


def print_run(done: DurableRun, *, as_machine: bool) -> int:
    summary, run = done.summary, done.run
    if as_machine:
        print_json(run_as_json(run, {"durable": summary, "digest": done.digest}))
    else:
        print_labelled("run", f"{summary.run_id}: {summary.status}", "bold")
        show_run(run)
        for call in summary.waits_for:
            print_labelled("waits", f"{call.name}({call.arguments}): {call.why}", "yellow")
        if summary.waits_for:
            print_labelled("", f"next: toolreel durable approve {summary.run_id} (or --deny)", "dim")
        if summary.problem:
            print_labelled("problem", summary.problem, "red")
    over = summary.status in {"failed", "refused"} or (summary.status == "ended" and not run.completed)
    return FAILED if over else 0


@command("export")
@_run_argument
@export_options("the run's id with .journal.jsonl")
@_pass_durable_runs
def export_command(runs: DurableRuns, run_id: str, target: Path | None, overwrite: bool) -> int:
    """Write a run to a file: a journal, which every command for recorded runs reads.

    \b
    toolreel durable export order-7
    toolreel replay order-7.journal.jsonl
    """
    text = runs.get(run_id).recorded.text
    return write_export(text, run_id, target or Path(f"{run_id}.journal.jsonl"), overwrite=overwrite)


def _print_next(run: RunSummary) -> None:
    """Print the command that performs a run: one that `toolreel run` began has a queue of its own."""
    own = run.queue == f"run {run.run_id}"
    performs = f"run ... --run-id {run.run_id}" if own else f"durable worker --queue {run.queue}"
    print_labelled("", f"next: toolreel {performs} (unless it is running)", "dim")


@command("approve")
@_run_argument
@click.option("--deny", is_flag=True, help="Deny the call: the model is told, and the run goes on.")
@click.option("--reason", metavar="TEXT", help="With --deny: why; the model reads it.")
@_pass_durable_runs
def approve_command(runs: DurableRuns, run_id: str, deny: bool, reason: str | None) -> int:
    """Approve the call that a run waits for; it runs with exactly the arguments that are shown.

    Of a call that is uncertain, because its worker died while it ran, it approves that it is repeated.

    \b
    toolreel durable approve order-7
    toolreel durable approve order-7 --deny --reason "Too expensive."
    """
    if reason and not deny:
        raise click.UsageError("--reason is for the model that reads why a call is denied: add --deny")
    call = runs.deny(run_id, reason or "") if deny else runs.approve(run_id)
    label, style = ("denied", "yellow") if deny else ("approved", "green")
    print_labelled(label, f"{call.name}({call.arguments})", style)
    _print_next(runs.summary(run_id))
    return 0


@command("say")
@_run_argument
@click.argument("text")
@_pass_durable_runs
def say_command(runs: DurableRuns, run_id: str, text: str) -> int:
    """Say TEXT to a run: its next request sends it; after its end, it begins the next exchange.

    \b
    toolreel durable say order-7 "And a nut, please."
    toolreel durable show order-7 --wait
    """
    runs.speak(run_id, text)
    print_labelled("said", run_id)
    _print_next(runs.summary(run_id))
    return 0


@command("cancel")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="Why; the outcome says it.")
@_pass_durable_runs
def cancel_command(runs: DurableRuns, run_ids: Texts, reason: str | None) -> int:
    """Cancel runs: each ends as soon as the request or tool has ended that it is in.

    \b
    toolreel durable cancel order-7 order-8
    """
    known = [runs.summary(run_id) for run_id in run_ids]  # an unknown one raises before any is cancelled
    for run in known:
        runs.cancel(run.run_id, reason or "")
        print_labelled("cancelled", f"{run.run_id}: it ends after what it is doing now, unless it had ended")
        _print_next(run)
    return 0


_WATCHED = 20
_LOOK_SECONDS = 0.5


@command("watch")
@click.option("--until-idle", is_flag=True, help="End when no run is queued or running.")
@click.option("--json", "as_machine", is_flag=True, help="Print a JSON object a line, one for each change.")
@_pass_durable_runs
def watch_command(runs: DurableRuns, until_idle: bool, as_machine: bool) -> int:
    """Follow the 20 latest runs of a database: a line for each change, with what each waits for.

    `toolreel durable show RUN --wait` follows one run.

    \b
    toolreel durable watch
    toolreel durable watch --until-idle --json | jq .status
    """
    before = dict[str, Sequence[str]]()
    while True:
        for each in reversed(runs.list(limit=_WATCHED)):
            run_id, status, *_, last = cells = _table_row_of_run(each)
            if before.get(run_id) == cells:
                continue
            before[run_id] = cells
            if as_machine:
                print_json(asdict(each))
            else:
                # The time of the change, so that lines of several watchers can be put in order.
                line = f"{each.updated:%Y-%m-%dT%H:%M:%SZ} {run_id} {status}"
                out.print(f"{line}: {last}" if last else line)
                out.file.flush()
        if until_idle and _GOING_ON.isdisjoint(runs.counts()):
            return 0
        time.sleep(_LOOK_SECONDS)


_LIMITS: Mapping[str, click.ParamType[Any]] = {
    **dict.fromkeys(("requests", "tokens", "reply-tokens"), click.INT),
    **dict.fromkeys(("window", "max-cost", "max-wait"), click.FLOAT),
}


def _parse_limit(text: str) -> dict[str, Any]:
    given = parse_key_values("--limit", text.split(","), "requests=60", (*_LIMITS, "account"))
    numbers = {key: _LIMITS[key].convert(given[key], None, None) for key in given if key in _LIMITS}
    return {key.replace("-", "_"): value for key, value in {**given, **numbers}.items()}


limit_option = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=parsing_callback("--limit", lambda items: tuple(_parse_limit(text) for text in items)),
    help="What all workers of the database keep together at the server's account: requests= and tokens= in "
    "any window= of seconds (60), max-cost= in all, max-wait= seconds for a turn, reply-tokens= to reserve. "
    "account= names the account, by default the host of each server, also of fallbacks. "
    "Repeatable: --limit requests=60 --limit account=daily,requests=5000,window=86400.",
)


def _endpoint_within_limits(
    endpoint: Endpoint,
    target: LiveTarget,
    limits: Sequence[Mapping[str, Any]],
    database: str | None,
    stack: ExitStack,
) -> Endpoint:
    """The endpoint of a server and its fallbacks, where each request waits for its turn within the limits.

    :raises ConfigError: if a limit means nothing, or two are for one account of a server
    """
    from toolreel.durable import Limits, database_url, limited

    if len({given.get("account") for given in limits}) < len(limits):  # one request would count twice
        raise ConfigError("--limit: two limits are for one account; name the second, such as account=daily")
    url = database_url(database).render_as_string(hide_password=False)

    def within_limits(name: str, server: Endpoint) -> Endpoint:
        base_url = target.servers[name].base_url or ""
        for given in limits:
            account = given.get("account") or urlsplit(base_url).hostname or base_url
            shared = limited(server, Limits(**{**given, "account": account, "database": url}))
            stack.callback(shared.close)
            server = shared
        return server

    if isinstance(endpoint, Endpoints):
        fallbacks = {name: within_limits(name, each) for name, each in endpoint.fallbacks.items()}
        return Endpoints(within_limits("", endpoint.first), fallbacks)
    return within_limits("", endpoint)


@dataclass(frozen=True, slots=True)
class _NamedTools(Router):
    """The tools of a worker, with what they are called: so a run is refused whose tools are not there."""

    surface: ToolSurface = field(default_factory=lambda: ToolSurface(()))


@contextmanager
def _open_live_ports(
    target: LiveTarget,
    sources: Sources,
    approver: Approver,
    limits: Sequence[Mapping[str, Any]] = (),
    database: str | None = None,
) -> Generator[Ports]:
    host = _NamedTools({}, OfferedTools.of(sources.tools).host(), sources.surface())
    with target.open_endpoint(None, None) as endpoint, ExitStack() as stack:
        within = _endpoint_within_limits(endpoint, target, limits, database, stack) if limits else endpoint
        yield Ports(within, host, approver)


def run_durably(
    run_id: str, plan: Plan, database: str | None, session: LiveSession, sources: Sources
) -> DurableRun:
    from toolreel.durable import Worker

    # Its own queue, so that no other worker performs it; its own slot, so that the next try takes it up.
    own = f"run {run_id}"
    with open_durable_runs(database) as runs:
        runs.submit(plan, run_id, queue=own)
        if runs.summary(run_id).status in {"failed", "refused"}:
            runs.resume(run_id)
        with (
            redirect_stdout(sys.stderr),
            session.progress,
            _open_live_ports(session.target, sources, session.approver) as ports,
            Worker(ports, database, queue=own, slot=own, concurrency=1, poll_seconds=0.1),
        ):
            try:
                return runs.wait(run_id)
            except KeyboardInterrupt:
                err.print(f"The run rests; the same command with --run-id {run_id} goes on.", style="yellow")
                raise


@command("worker")
@server_options()
@source_options
@database_option
@queue_option
@click.option(
    "--slot",
    metavar="NAME",
    help="Name of this worker, the same after each restart: it takes up the runs that it left. By default, "
    "the first free one of worker-1, worker-2 and so on.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=4,
    help="Runs that each worker of the queue performs at once; the worker that starts last sets it.",
)
@click.option(
    "--poll",
    type=click.FloatRange(min=0.01),
    default=1.0,
    metavar="SECONDS",
    help="How often to look for new runs.",
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    default=30.0,
    metavar="SECONDS",
    help="After SIGTERM or Ctrl-C: how long to wait for requests and tools that are running.",
)
@click.option(
    "--approve",
    type=click.Choice(("wait", "always", "never")),
    default="wait",
    help="Calls that need approval: wait lets the run wait for `toolreel durable approve`; always and never "
    "decide at once.",
)
@limit_option
@click.option(
    "--uncertain",
    type=click.Choice(("repeat", "ask")),
    default="repeat",
    help="A call that was running when its worker died, of a tool that is neither read-only nor idempotent: "
    "repeat it with the same idempotency key, or ask, and let the run wait for `toolreel durable approve`.",
)
@port_option("Answer /livez, /readyz and /metrics (for Prometheus) on this port.", name="--health-port")
@click.option(
    "--health-host",
    default="127.0.0.1",
    metavar="HOST",
    help="Address of --health-port.",
)
@click.option(
    "--until-idle", is_flag=True, help="End when the queue has no more runs, instead of waiting for new ones."
)
def worker_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    server: LiveTarget,
    sources: SourceChoice,
    database: str | None,
    queue: str,
    slot: str | None,
    concurrency: int,
    poll: float,
    drain: float,
    approve: str,
    limits: tuple[Mapping[str, Any], ...],
    uncertain: Literal["repeat", "ask"],
    health_port: int | None,
    health_host: str,
    until_idle: bool,
) -> int:
    """Perform durable runs until it is stopped.

    Runs come from `toolreel durable submit`; what they did so far is in the database, so a worker may be
    killed at any time: when it starts again with the same --slot, its runs go on where they were. No request
    or tool call whose result is stored is repeated. On SIGTERM each run rests before its next effect and goes
    back to the queue. Start as many workers as you like, on PostgreSQL on as many machines.

    \b
    toolreel durable worker --base-url http://127.0.0.1:8080 --tools my_tools:TOOLS
    toolreel durable submit "Order a pin." --model m --tools my_tools:TOOLS
    """
    from toolreel.durable import Worker

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    approvers: dict[str, Approver] = {"wait": Later(), "always": Always(), "never": Never("")}
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        available = stack.enter_context(sources.open())
        target = replace(server, withheld=available.secrets)
        withhold_secrets(target.secrets)
        ports = stack.enter_context(_open_live_ports(target, available, approvers[approve], limits, database))
        worker = Worker(
            ports,
            database,
            queue=queue,
            slot=slot,
            concurrency=concurrency,
            poll_seconds=poll,
            uncertain=uncertain,
            watch=log_json,
            health=None if health_port is None else f"{health_host}:{health_port}",
        )
        worker.start()
        port = {} if worker.health_port is None else {"health_port": worker.health_port}
        log_json({"worker": worker.slot, "queue": queue, "is": "ready", **port})
        while not stop.wait(poll) and not worker.is_lost:
            if until_idle and not worker.has_work():
                break
        lost = worker.is_lost
        log_json({"worker": worker.slot, "is": "lost" if lost else "draining", "runs": len(worker.busy_with)})
        rested = worker.stop(drain)
    if not rested:  # a tool that hangs would keep this process; its run is taken up again by the next one
        log_json({"is": "stopped", "cut_off": True})
        os._exit(FAILED)
    if lost:
        err.print("Another worker has taken this slot; give each worker its own --slot.", style="red")
    return FAILED if lost else 0
