"""Progress of an evaluation on stderr, and Ctrl-C, which ends it after the runs that are under way."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from toolreel._cli.console import err, printable, withhold
from toolreel._cli.errors import INTERRUPTED
from toolreel._cli.options import NO_PRESETS
from toolreel._secrets import key_notice
from toolreel_core.evals import EvalPlan, Record, kind_of

if TYPE_CHECKING:
    from toolreel.evals import Connection, ExistingRuns, Spending


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
        self._total, self._max_cost = plan.count, plan.budget.max_cost
        self._quiet = quiet
        self._lines = (lines or not err.is_terminal) and not quiet
        self._results: Counter[str] = Counter()
        self.failed: list[Record] = []
        """The first runs that failed."""
        self.interrupted = False
        """Whether Ctrl-C has ended it."""
        self._spending: Spending | None = None
        columns = (
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            # On a narrow terminal only its end is cut.
            TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True)),
        )
        shown = err.is_terminal and not err.is_dumb_terminal and not quiet
        self._bar = Progress(*columns, console=err, transient=True, expand=True, disable=not shown)
        self._task = self._bar.add_task("waiting for the first run", total=self._total)

    def found(self, found: ExistingRuns, /) -> None:
        """Print how many runs exist already."""
        self._spending = found.spending
        self._bar.update(self._task, completed=len(found.ended))
        if not self._quiet and (found.ended or found.void):
            parts = [f"{len(found.ended)} of {self._total} runs have ended before"]
            parts += [f"{found.void} are void and made again"] if found.void else []
            parts += [f"{found.accepted} are void and accepted"] if found.accepted else []
            err.print("; ".join(parts))

    def ended(self, record: Record, /) -> None:
        """Count a run, and print its result."""
        cell, verdict = record.cell, record.verdict
        self._results[verdict.result] += 1
        if verdict.result == "fail" and len(self.failed) < _KEPT:
            self.failed.append(record)
        if self._lines:
            done = int(self._bar.tasks[0].completed) + 1
            names = ":".join(filter(None, (cell.model, cell.profile, cell.strategy, cell.endpoint)))
            why = ": ".join((verdict.category, *verdict.reasons[:1]))
            why = why if len(why) <= _REASON_LENGTH else f"{why[:_REASON_LENGTH]}…"
            style = {"pass": "green", "fail": "red", "void": "yellow"}.get(verdict.result, "")
            line = (
                f"[{done}/{self._total}] {_WORDS[verdict.result]:<4} {names} {cell.scenario} "
                f"trial {record.trial} {record.ms} ms  {why}"
            )
            err.print(printable(line.rstrip()), style=style)
        self._bar.update(self._task, advance=1, description=self.status_text)

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
        counts = ", ".join(f"{count} {_WORDS[result]}" for result, count in self._results.items())
        cost = self._spending.cost if self._spending else 0
        limit = "" if self._max_cost is None else f" of {self._max_cost:g}"
        return counts + (f", cost {cost:.6g}{limit}" if cost else "")
