"""Progress of an evaluation on stderr, and Ctrl-C, which ends it after the runs that are under way."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from toolreel._cli.console import err, printable, withhold
from toolreel._cli.errors import INTERRUPTED
from toolreel._cli.options import NO_PRESETS
from toolreel._secrets import key_notice
from toolreel.evals import Spent
from toolreel_core.evals import EvalPlan, Record, kind_of

if TYPE_CHECKING:
    from toolreel.evals import Connection, ExistingRuns


def connect_with_notices(plan: EvalPlan) -> Connection:
    """The way to a plan's endpoint; says so if its key is not kept out of recordings, or no presets apply.

    :raises EndpointConfigError: if the variable of the key or a header is not set, and not all models are
        scripts
    """
    from toolreel.evals import connect

    connection = connect(plan)
    withhold(connection.secrets)
    ways = (connection, *connection.at_endpoints.values())
    variables = (name for each in plan.endpoints.values() for _, name in each.headers_env)
    for name in dict.fromkeys((*(way.api_key_env or "" for way in ways), *variables)):
        if notice := key_notice(name, os.environ.get(name, "")):
            err.print(notice, style="yellow")
    unnamed = not all(each.provider for each in plan.endpoints.values())
    asks = not all(map(kind_of, plan.models))
    if asks and unnamed and any(each.defaults for each in plan.strategies):
        err.print(NO_PRESETS, style="yellow")
    return connection


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
    """Watches an evaluation of a plan.

    :param lines: whether each run has a line, on a terminal too
    :param quiet: whether nothing is shown at all but what Ctrl-C does
    """

    def __init__(self, plan: EvalPlan, *, lines: bool, quiet: bool = False) -> None:
        self._total = plan.count
        self._prices, self._max_cost = plan.options.price, plan.budget.max_cost
        self._spent = Spent()
        self._quiet = quiet
        self._lines = (lines or not err.is_terminal) and not quiet
        self._results: Counter[str] = Counter()
        self.failed: list[Record] = []
        """The first runs that failed."""
        self.interrupted = False
        """Whether Ctrl-C has ended it."""
        self._before = 0
        self._since = time.monotonic()
        self._bar: Progress | None = None
        if err.is_terminal and not err.is_dumb_terminal and not quiet:
            columns = (
                BarColumn(bar_width=10),
                MofNCompleteColumn(table_column=Column(no_wrap=True)),
                TimeElapsedColumn(table_column=Column(no_wrap=True)),
                # On a narrow terminal only its end is cut.
                TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True)),
            )
            self._bar = Progress(*columns, console=err, transient=True, expand=True)
            self._task = self._bar.add_task("", total=self._total)

    def found(self, found: ExistingRuns, /) -> None:
        """Print how many runs exist already."""
        self._before, self._spent = len(found.ended), found.spent
        if not self._quiet and (found.ended or found.void):
            parts = [f"{len(found.ended)} of {self._total} runs have ended before"]
            parts += [f"{found.void} are void and made again"] if found.void else []
            parts += [f"{found.accepted} are void and accepted"] if found.accepted else []
            err.print("; ".join(parts))
        self._show()

    def ended(self, record: Record, /) -> None:
        """Count a run, and print its result."""
        self._spent = self._spent.after(record, self._prices)
        self._results[record.verdict.result] += 1
        if record.verdict.result == "fail" and len(self.failed) < _KEPT:
            self.failed.append(record)
        if self._lines:
            cell, verdict = record.cell, record.verdict
            names = ":".join(filter(None, (cell.model, cell.profile, cell.strategy, cell.endpoint)))
            why = ": ".join((verdict.category, *verdict.reasons[:1]))
            why = why if len(why) <= _REASON_LENGTH else f"{why[:_REASON_LENGTH]}…"
            style = {"pass": "green", "fail": "red", "void": "yellow"}.get(verdict.result, "")
            line = (
                f"[{self._done}/{self._total}] {_WORDS[verdict.result]:<4} {names} {cell.scenario} "
                f"trial {record.trial} {record.ms} ms  {why}"
            )
            err.print(printable(line.rstrip()), style=style)
        self._show()

    @contextmanager
    def watching(self) -> Generator[Event]:
        """Show the progress; Ctrl-C sets the event and lets runs in flight end, a second one aborts them."""
        stop = Event()

        def interrupted(_signal: int, _frame: FrameType | None) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            stop.set()
            self.interrupted = True
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
            sys.exit(INTERRUPTED)
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def status_text(self) -> str:
        """Counts, rate, cost and remaining time in one line."""
        made, spent = self._results.total(), time.monotonic() - self._since
        counts = ", ".join(f"{count} {_WORDS[result]}" for result, count in self._results.items())
        left = self._total - self._done
        rest = f", {_duration(spent / made * left)} left" if made and left else ""
        rate = f", {made / spent * 60:.1f} a minute" if made else ""
        limit = "" if self._max_cost is None else f" of {self._max_cost:g}"
        # What all runs have cost, those made before too.
        cost = f", cost {self._spent.cost:.6g}{limit}" if self._spent.cost else ""
        return f"{counts or 'waiting for the first run'}{rate}{rest}{cost}"

    @property
    def _done(self) -> int:
        return self._before + self._results.total()

    def _show(self) -> None:
        if self._bar:
            self._bar.update(self._task, completed=self._done, description=self.status_text)


def _duration(seconds: float) -> str:
    """A duration in words.

    >>> _duration(50), _duration(700), _duration(20_000)
    ('50 s', '12 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_000 else f"{seconds / 3_600:.1f} h"
