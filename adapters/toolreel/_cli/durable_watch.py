"""``toolreel durable watch``: a live view of durable runs."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import out, printable
from toolreel._cli.durable_runs import STATUSES, shown, summary_tree
from toolreel._cli.errors import EPILOG, reporting, say
from toolreel._cli.run_options import database_option, opened_runs

if TYPE_CHECKING:
    from rich.table import Table

    from toolreel.durable import RunLook, RunLooks
    from toolreel_core._jsontext import Json

_COLOURS: Final = {"running": "cyan", "waiting": "yellow", "failed": "red", "refused": "red", "ended": "dim"}
_COLUMNS: Final = (("run", 3), ("status", 2), ("waits for", 3), ("turn", 1), ("age", 1), ("cost", 2))
"""Names, with their shares of the width; the first ones are those of a narrow terminal."""
_FEWEST: Final = 3
_WIDE: Final = 60


@click.command("watch", epilog=EPILOG)
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--status", type=click.Choice(STATUSES), help="Only runs with this status.")
@click.option(
    "--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Maximum number of runs."
)
@click.option(
    "--every",
    type=click.FloatRange(min=0.05),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@click.option("--until-idle", is_flag=True, help="End when no run is queued, running or about to retry.")
@database_option
@click.option("--json", "as_machine", is_flag=True, help="Print a JSON object a line, one for each change.")
@reporting
def watch_command(
    run_id: str | None,
    status: str | None,
    limit: int,
    every: float,
    until_idle: bool,
    database: str | None,
    as_machine: bool,
) -> int:
    """Show the durable runs of a database, with the turn that each is in, what it waits for, and its cost.

    On a terminal it is a table that follows the runs until Ctrl-C; in a pipe, a line for each change. With
    RUN, it follows this run until it has ended, prints it, and exits as `toolreel run` does.

    \b
    toolreel durable watch
    toolreel durable watch order-7
    toolreel durable watch --until-idle --json | jq .status
    """
    with opened_runs(database) as runs:
        from toolreel.durable import RunLooks

        looks = RunLooks(runs)
        if run_id is not None:
            if status is not None or until_idle:
                raise click.UsageError("--status and --until-idle are about all runs: leave out RUN or them")
            _show(_of_one(looks, run_id, every), as_machine=as_machine)
            return shown(runs.get(run_id), as_machine=as_machine)
        seen = _of_all(looks, limit, status, every, until_idle=until_idle)
        try:
            _show(seen, as_machine=as_machine)
        except KeyboardInterrupt:
            if not _is_table(as_machine=as_machine):
                raise  # Ctrl-C is the way to end a table alone
        return 0


def _of_one(looks: RunLooks, run_id: str, every: float) -> Iterator[Sequence[RunLook]]:
    from toolreel.durable import OVER

    while True:
        look = looks.one(run_id)
        yield [look]
        if look.summary.status in OVER:
            return
        time.sleep(every)


def _of_all(
    looks: RunLooks, limit: int, status: str | None, every: float, *, until_idle: bool
) -> Iterator[Sequence[RunLook]]:
    while True:
        yield (found := looks.newest(limit, status))
        if until_idle and not {each.summary.status for each in found} & {"queued", "running", "sleeping"}:
            return
        time.sleep(every)


def _is_table(*, as_machine: bool) -> bool:
    return not as_machine and out.is_terminal and not out.is_dumb_terminal


def _show(seen: Iterator[Sequence[RunLook]], *, as_machine: bool) -> None:
    if _is_table(as_machine=as_machine):
        _draw(seen)
        return
    before: dict[str, tuple[str | int, ...]] = {}
    for looks in seen:
        for look in looks:
            if before.get(look.summary.run_id) == look.changes:
                continue
            before[look.summary.run_id] = look.changes
            if as_machine:
                about: dict[str, Json] = {
                    "turn": look.turn,
                    "tokens": look.tokens,
                    "cost": look.cost,
                    "waits": look.waits_for,
                }
                say({**summary_tree(look.summary), **about})
            else:
                out.print(_line(look))
                out.file.flush()


def _draw(seen: Iterator[Sequence[RunLook]]) -> None:
    """A table in the place of the one before; the last one stays."""
    from rich.live import Live

    with Live(console=out, auto_refresh=False) as live:
        for looks in seen:
            with _uninterrupted():
                live.update(_table(looks), refresh=True)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Ctrl-C comes when this is done: nothing is painted over a table that was painted in part."""
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _table(looks: Sequence[RunLook]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from toolreel.durable import age

    table = Table(box=None, pad_edge=False, header_style="bold blue")
    columns = _COLUMNS if out.width >= _WIDE else _COLUMNS[:_FEWEST]
    for name, ratio in columns:
        right = name in {"turn", "age", "cost"}
        table.add_column(
            name, no_wrap=True, overflow="ellipsis", justify="right" if right else "left", ratio=ratio
        )
    now = datetime.fromtimestamp(time.time(), UTC)
    for look in looks:
        one = look.summary
        style = _COLOURS.get(one.status, "")
        last = look.waits_for or one.problem.partition(";")[0] or one.outcome
        cells = (one.run_id, one.status, last, str(look.turn or ""), age(one.created, now), look.cost)
        table.add_row(*(Text(printable(cell), style=style) for cell in cells[: len(columns)]))
    if not looks:
        table.add_row("none yet; queue one with toolreel durable submit")
    return table


def _line(look: RunLook) -> str:
    """One change in one line.

    The time is that of the change, so lines of several watchers can be put in order.
    """
    one = look.summary
    parts = (
        f"{one.updated:%Y-%m-%dT%H:%M:%SZ} {one.run_id} {one.status}",
        f"turn {look.turn}" if look.turn else "",
        f"waits for {look.waits_for}" if look.waits_for else "",
        one.outcome,
        one.problem,
        f"cost {look.cost}" if look.cost else "",
    )
    return ", ".join(filter(None, parts))
