"""Progress of an evaluation on stderr, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event
from types import FrameType, TracebackType
from typing import Final, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from toolreel._cli.output.console import err, printable
from toolreel.evals._runner.evaluation import ExistingRuns
from toolreel_core.evals._records.record import Record

__all__ = ["EvaluationProgress", "stoppable"]

_WORDS: Final = {
    "pass": "OK",
    "pass_unexercised": "OK*",
    "fail": "FAIL",
    "unsupported": "UNSUPPORTED",
    "void": "VOID",
}
_SAMPLE: Final = 120
_KEPT: Final = 10


class EvaluationProgress:
    """Observer of an evaluation: a progress bar on a terminal, a line per run in a pipe.

    :param total: number of runs in the plan
    :param lines: print a line per run on a terminal too
    """

    def __init__(self, total: int, *, lines: bool) -> None:
        self._total = total
        self._lines = lines or not err.is_terminal
        self._results: Counter[str] = Counter()
        self.failed: list[Record] = []
        """The first failed runs, at most ten."""
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
        """Say what there is already."""
        self._before = len(found.ended)
        if found.ended or found.void or found.others:
            parts = [f"{len(found.ended)} of {self._total} runs exist already"]
            parts += [f"{found.void} are void and will be repeated"] if found.void else []
            parts += [f"{found.others} records belong to other plans"] if found.others else []
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

    def stopping(self) -> None:
        """Print that runs in progress will be finished."""
        err.print(
            "Stopping: runs in progress will be finished; press Ctrl-C again to abort them. "
            "The same command continues later."
        )

    @property
    def status_text(self) -> str:
        """How far it is, in one line."""
        made = self._results.total()
        counts = ", ".join(f"{count} {_WORDS[result]}" for result, count in self._results.items())
        remaining = self._total - self._before - made
        spent = time.monotonic() - self._since
        rest = f", {_duration(spent / made * remaining)} left" if made and remaining else ""
        rate = f", {made / spent * 60:.1f} a minute" if made else ""
        return f"{counts or 'waiting for the first run'}{rate}{rest}"

    def _line(self, record: Record) -> str:
        cell, verdict = record.cell, record.verdict
        names = ":".join(part for part in (cell.model, cell.profile, cell.strategy, cell.fallback) if part)
        language = "" if cell.language == "off" else f" {cell.language}"
        why = verdict.category + (f": {verdict.reasons[0]}" if verdict.reasons else "")
        sample = f"  {why[:_SAMPLE]}{'…' if len(why) > _SAMPLE else ''}" if why else ""
        done = self._before + self._results.total()
        return (
            f"[{done}/{self._total}] {_WORDS[verdict.result]:<4} {names}{language} {cell.scenario} "
            f"trial {record.trial} {record.ms} ms{sample}"
        )

    def _show(self) -> None:
        if self._bar:
            done = self._before + self._results.total()
            self._bar.update(self._task, completed=done, description=self.status_text)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()


@contextmanager
def stoppable(stop: Event, progress: EvaluationProgress) -> Generator[None]:
    """Handle Ctrl-C: the first lets runs in progress finish, the second aborts them."""

    def interrupted(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        progress.stopping()

    previous = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    except KeyboardInterrupt:
        err.print("Aborted; all finished runs are kept.")
        sys.exit(130)  # 128 + SIGINT, the convention of shells
    finally:
        signal.signal(signal.SIGINT, previous)


def _style(record: Record) -> str:
    return {"pass": "green", "fail": "red", "void": "yellow"}.get(record.verdict.result, "")


def _duration(seconds: float) -> str:
    """A duration in a readable unit.

    >>> _duration(50), _duration(700), _duration(20_000)
    ('50 s', '12 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_000 else f"{seconds / 3_600:.1f} h"
