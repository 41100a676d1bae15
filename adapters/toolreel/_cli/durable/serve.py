"""``toolreel serve``: a worker for durable runs."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime
from typing import Final

import click

from toolreel._cli.durable.limits import LimitChoice, SharedLimits, limit_option
from toolreel._cli.durable.options import database_option, queue_option, slot_option, uncertain_option
from toolreel._cli.options.driver_and_approval import timeout_option
from toolreel._cli.options.server import ServerChoice, server_options
from toolreel._cli.options.sources import SourceChoice, source_options
from toolreel._cli.output.console import err
from toolreel._cli.output.errors import EPILOG, FAILED, reporting

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@click.command("serve", epilog=EPILOG, short_help="Perform durable runs: a worker for a queue.")
@click.option("--base-url", required=True, metavar="URL", help="Server that all requests go to.")
@server_options
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
    help="Calls that need approval: wait lets the run wait for `toolreel runs approve`; always and never "
    "decide at once.",
)
@limit_option
@uncertain_option
@timeout_option
@click.option(
    "--health",
    metavar="HOST:PORT",
    help="Answer /livez, /readyz and /metrics (for Prometheus) here, for example on 127.0.0.1:9090.",
)
@click.option(
    "--until-idle", is_flag=True, help="End when the queue has no more runs, instead of waiting for new ones."
)
@reporting
def serve_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    base_url: str,
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
    timeout: float,
    health: str | None,
    until_idle: bool,
) -> int:
    """Perform durable runs until it is stopped.

    Runs come from `toolreel submit`; what they did so far is in the database, so a worker may be killed at
    any time: when it starts again with the same --slot, its runs go on where they were. No request or tool
    call whose result is stored is repeated. On SIGTERM each run rests before its next effect and goes back
    to the queue. Start as many workers as you like, on PostgreSQL on as many machines.

    \b
    toolreel serve --base-url http://127.0.0.1:8080 --tools my_tools:TOOLS
    toolreel submit "Order a pin." --model m --tools my_tools:TOOLS
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.durable.ports import approver_of, live_ports
    from toolreel.durable import Worker

    stop = threading.Event()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: stop.set())
    with (
        redirect_stdout(sys.stderr),
        sources.open() as available,
        live_ports(
            base_url, server, timeout, available, approver_of(approve), SharedLimits(limits, database)
        ) as ports,
    ):
        worker = Worker(
            ports,
            database,
            queue=queue,
            slot=slot,
            concurrency=concurrency,
            poll_seconds=poll,
            uncertain="ask" if uncertain == "ask" else "repeat",
            watch=_log,
            health=health,
        )
        worker.start()
        port = {} if worker.health_port is None else {"health_port": worker.health_port}
        _log({"worker": worker.slot, "queue": queue, "is": "ready", **port})
        while not stop.wait(poll) and not worker.is_lost:
            if until_idle and not worker.has_work():
                break
        lost = worker.is_lost
        _log({"worker": worker.slot, "is": "lost" if lost else "draining", "runs": len(worker.busy_with)})
        rested = worker.stop(drain)
    if not rested:  # a tool that hangs would keep this process; its run is taken up again by the next one
        _log({"is": "stopped", "cut_off": True})
        os._exit(FAILED)
    if lost:
        err.print("Another worker has taken this slot; give each worker its own --slot.", style="red")
    return FAILED if lost else 0


def _log(happened: dict[str, object]) -> None:
    """One line of JSON on stderr."""
    at = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"at": at, **happened}), file=sys.__stderr__, flush=True)
