"""``toolreel durable worker``: perform durable runs, within limits that all workers share."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from toolreel._cli.console import err, log_json, withhold
from toolreel._cli.errors import EPILOG, FAILED, reporting
from toolreel._cli.options import LiveTarget, choices, key_values, port_option, server_options
from toolreel._cli.run_options import (
    SourceChoice,
    Sources,
    database_option,
    opened_runs,
    queue_option,
    source_options,
)
from toolreel._driver import Always, Approver, Endpoint, Endpoints, Later, Never, Ports
from toolreel.tools import PythonTools, Router
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel._cli.live_run import LiveSession
    from toolreel.durable import DurableRun
    from toolreel_core._plan import Plan

_LIMITS: Final[Mapping[str, click.ParamType[Any]]] = {
    **dict.fromkeys(("requests", "tokens", "reply-tokens"), click.INT),
    **dict.fromkeys(("window", "max-cost", "max-wait"), click.FLOAT),
}
"""What ``Limits`` takes."""

limit_option: Final = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=choices(
        "--limit", lambda text: key_values("--limit", text, (*_LIMITS, "account", "endpoint"), "requests=60")
    ),
    help="What all workers of the database keep together at the server's account: requests= and tokens= in "
    "any window= of seconds (60), max-cost= in all, max-wait= seconds for a turn, reply-tokens= to reserve. "
    "account= names the account, by default the server's host; endpoint= limits that fallback instead. "
    "Repeatable: --limit requests=60 --limit account=daily,requests=5000,window=86400.",
)
"""Adds the option to a command, which receives the items of each, by key."""


def _with_limits(
    endpoint: Endpoint,
    target: LiveTarget,
    limits: Iterable[Mapping[str, str]],
    database: str | None,
    stack: ExitStack,
) -> Endpoint:
    """The endpoint of a server and its fallbacks, where each request waits for its turn within the limits.

    :raises ConfigError: if a limit means nothing or names no fallback, or two are for one account of a server
    """
    from toolreel.durable import Limits, database_url, limited

    of: dict[str, Endpoint] = {"": endpoint}
    if isinstance(endpoint, Endpoints):
        of = {"": endpoint.first, **endpoint.fallbacks}
    url = database_url(database).render_as_string(hide_password=False)
    taken = set[tuple[str, str]]()
    for given in limits:
        name = given.get("endpoint", "")
        if name not in of:
            known = unknown_name("fallback", name, filter(None, of))
            none = "endpoint= names a fallback, and there is none; add one with --fallback"
            raise ConfigError(f"--limit: {known if len(of) > 1 else none}")
        base_url = target.servers[name].base_url or ""
        account = given.get("account") or urlsplit(base_url).hostname or base_url
        if (name, account) in taken:  # one request would count twice
            raise ConfigError(
                f"--limit: the account {account} has two limits; name the second, such as account=daily"
            )
        taken.add((name, account))
        numbers = {
            key.replace("-", "_"): _LIMITS[key].convert(value, None, None)
            for key, value in given.items()
            if key in _LIMITS
        }
        shared = limited(of[name], Limits(account, url, **numbers))
        stack.callback(shared.close)
        of[name] = shared
    first = of.pop("")
    return Endpoints(first, of) if of else first


@dataclass(frozen=True, slots=True)
class _NamedTools(Router):
    """The tools of a worker, with what they are called: so a run is refused whose tools are not there."""

    surface: ToolSurface = field(default_factory=lambda: ToolSurface(()))


@contextmanager
def _live_ports(
    target: LiveTarget,
    sources: Sources,
    approver: Approver,
    limits: Sequence[Mapping[str, str]] = (),
    database: str | None = None,
) -> Generator[Ports]:
    host = _NamedTools(sources.hosts, PythonTools(sources.tools), sources.surface((), ()))
    with target.opened(None, None) as endpoint, ExitStack() as stack:
        within = _with_limits(endpoint, target, limits, database, stack) if limits else endpoint
        yield Ports(within, host, approver)


def run_durably(
    run_id: str, plan: Plan, database: str | None, session: LiveSession, sources: Sources
) -> DurableRun:
    """Perform a run in a queue of its own, until it ends or waits for somebody."""
    from toolreel.durable import Worker

    own = f"run {run_id}"
    with opened_runs(database) as runs:
        runs.submit(plan, run_id, queue=own)
        if runs.summary(run_id).status in {"failed", "refused"}:
            runs.resume(run_id)
        with (
            _live_ports(session.target, sources, session.approver) as ports,
            Worker(ports, database, queue=own, slot=own, concurrency=1, poll_seconds=0.1),
        ):
            try:
                return runs.wait(run_id)
            except KeyboardInterrupt:
                err.print(f"The run rests; the same command with --run-id {run_id} goes on.", style="yellow")
                raise


@click.command("worker", epilog=EPILOG)
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
    show_default=True,
    help="Runs that each worker of the queue performs at once; the worker that starts last sets it.",
)
@click.option(
    "--poll",
    type=click.FloatRange(min=0.01),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for new runs.",
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="After SIGTERM or Ctrl-C: how long to wait for requests and tools that are running.",
)
@click.option(
    "--approve",
    type=click.Choice(("wait", "always", "never")),
    default="wait",
    show_default=True,
    help="Calls that need approval: wait lets the run wait for `toolreel durable approve`; always and never "
    "decide at once.",
)
@limit_option
@click.option(
    "--uncertain",
    type=click.Choice(("repeat", "ask")),
    default="repeat",
    show_default=True,
    help="A call that was running when its worker died, of a tool that is neither read-only nor idempotent: "
    "repeat it with the same idempotency key, or ask, and let the run wait for `toolreel durable approve`.",
)
@port_option("Answer /livez, /readyz and /metrics (for Prometheus) on this port.", name="--health-port")
@click.option(
    "--health-host",
    default="127.0.0.1",
    show_default=True,
    metavar="HOST",
    help="Address of --health-port.",
)
@click.option(
    "--until-idle", is_flag=True, help="End when the queue has no more runs, instead of waiting for new ones."
)
@reporting
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
    limits: tuple[Mapping[str, str], ...],
    uncertain: str,
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
        withhold(target.secrets)
        ports = stack.enter_context(_live_ports(target, available, approvers[approve], limits, database))
        worker = Worker(
            ports,
            database,
            queue=queue,
            slot=slot,
            concurrency=concurrency,
            poll_seconds=poll,
            uncertain="ask" if uncertain == "ask" else "repeat",
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
