"""``toolreel durable worker``: perform durable runs, within limits that all workers share."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from toolreel._cli.console import err, log_json, withhold
from toolreel._cli.errors import EPILOG, FAILED, reporting
from toolreel._cli.options import choices, key_values, port_option
from toolreel._cli.run_options import (
    database_option,
    opened_runs,
    queue_option,
    slot_option,
    uncertain_option,
)
from toolreel._cli.server_options import ServerChoice, server_options
from toolreel._cli.tool_options import SourceChoice, Sources, source_options
from toolreel._driver import Always, Approver, Endpoint, Endpoints, Later, Never, Ports, ToolHost, secrets_of
from toolreel.tools import PythonTools, Router
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel._cli.live_run import LiveSession
    from toolreel._cli.live_target import LiveTarget
    from toolreel.durable import DurableRun
    from toolreel_core._plan import Plan

_WHOLE: Final = ("requests", "tokens", "reply-tokens")
_DECIMAL: Final = ("window", "max-cost", "max-wait")
_NAMES: Final = ("account", "endpoint")
_NO_FALLBACKS: Final = (
    "endpoint= names a fallback, and there is none; add one with --fallback, or leave endpoint= out"
)


@dataclass(frozen=True, slots=True)
class LimitChoice:
    """The values of one ``--limit``."""

    endpoint: str = ""
    """The name of a fallback; empty for the plan's own server."""
    account: str = ""
    """By default the server's host."""
    limits: Mapping[str, int | float] = field(default_factory=dict)
    """What ``Limits`` takes, by name."""

    @classmethod
    def of(cls, text: str) -> LimitChoice:
        """Read ``key=value`` items between commas.

        >>> LimitChoice.of("requests=60,max-cost=2.5").limits
        {'requests': 60, 'max_cost': 2.5}

        :raises ConfigError: if a key does not exist, or a value is no number above 0
        """
        found = key_values("--limit", text, (*_WHOLE, *_DECIMAL, *_NAMES), "requests=60")
        numbers = {key: value for key, value in found.items() if key not in _NAMES}
        limits = {key.replace("-", "_"): _parse_number(key, value) for key, value in numbers.items()}
        if not limits.keys() & {"requests", "tokens", "max_cost"}:
            raise ConfigError(f"--limit {text!r}: say what is limited: requests=, tokens= or max-cost=")
        return cls(found.get("endpoint", ""), found.get("account", ""), limits)


def _parse_number(key: str, value: str) -> int | float:
    try:
        number = int(value) if key in _WHOLE else float(value)
    except ValueError:
        kind = "a whole number" if key in _WHOLE else "a number"
        raise ConfigError(f"--limit: {key}: expected {kind}, got {value!r}") from None
    if not 0 < number < float("inf"):
        raise ConfigError(f"--limit: {key}: expected a number above 0, got {value}")
    return number


limit_option: Final = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=choices("--limit", LimitChoice.of),
    help="What all workers of the database keep together at the server's account: requests= and tokens= in "
    "any window= of seconds (60), max-cost= in all, max-wait= seconds for a turn, reply-tokens= to reserve. "
    "account= names the account, by default the server's host; endpoint= limits that fallback instead. "
    "Repeatable: --limit requests=60 --limit account=daily,requests=5000,window=86400.",
)
"""Adds the option to a command, which receives the choices."""


def _with_limits(
    endpoint: Endpoint,
    target: LiveTarget,
    limits: Iterable[LimitChoice],
    database: str | None,
    stack: ExitStack,
) -> Endpoint:
    """The endpoint of a server and its fallbacks, where each request waits for its turn within the limits.

    :raises ConfigError: if a limit names no fallback, or two are for one account of a server
    """
    from toolreel.durable import Limits, database_url, limited

    there = {"": target, **target.fallbacks}
    of: dict[str, Endpoint] = {"": endpoint}
    if isinstance(endpoint, Endpoints):
        of = {"": endpoint.first, **endpoint.fallbacks}
    taken = set[tuple[str, str]]()
    for choice in limits:
        name = choice.endpoint
        if name not in of:
            known = unknown_name("fallback", name, filter(None, of))
            raise ConfigError(f"--limit: {known if len(of) > 1 else _NO_FALLBACKS}")
        account = choice.account or urlsplit(there[name].base_url).hostname or there[name].base_url
        if (name, account) in taken:  # one request would count twice
            raise ConfigError(
                f"--limit: the account {account} has two limits; name the second, such as account=daily"
            )
        taken.add((name, account))
        url = database_url(database).render_as_string(hide_password=False)
        numbers: dict[str, Any] = dict(choice.limits)
        shared = limited(of[name], Limits(account, url, **numbers))
        stack.callback(shared.close)
        of[name] = shared
    first = of.pop("")
    return Endpoints(first, of) if of else first


@dataclass(frozen=True, slots=True)
class _NamedTools:
    """The tools of a worker, with what they are called: so a run is refused whose tools are not there."""

    host: ToolHost
    surface: ToolSurface

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the hosts send."""
        return secrets_of(self.host)

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its host."""
        return self.host.run(effect)


@contextmanager
def _live_ports(
    target: LiveTarget,
    sources: Sources,
    approver: Approver,
    limits: Sequence[LimitChoice] = (),
    database: str | None = None,
) -> Generator[Ports]:
    """Ports to a server, within limits, and the tools of all sources."""
    host = _NamedTools(Router(sources.hosts, PythonTools(sources.tools)), sources.surface((), ()))
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
@slot_option
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
@uncertain_option
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
    server: ServerChoice,
    sources: SourceChoice,
    database: str | None,
    queue: str,
    slot: str | None,
    concurrency: int,
    poll: float,
    drain: float,
    approve: str,
    limits: tuple[LimitChoice, ...],
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
        target = server.target(available.secrets)
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
