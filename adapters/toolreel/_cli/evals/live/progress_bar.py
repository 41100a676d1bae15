"""The bar of an evaluation on a terminal, with the runs that are under way below it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.text import Text

from toolreel._cli.console import counted, printable
from toolreel._driver.timing import duration
from toolreel_core.evals._plan.cells import Sample

_SHOWN: Final = 4
"""Runs under way that have a line: those that take longest."""


class EvaluationBar(Progress):
    """How many runs have ended, in words below, and what is under way since when.

    :param status: the words
    """

    def __init__(self, console: Console, total: int, status: Callable[[], str]) -> None:
        self._status, self._out = status, console
        self._running: dict[str, tuple[str, float]] = {}
        columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn())
        super().__init__(*columns, console=console, transient=True, expand=True)
        self._total = self.add_task("", total=total)

    def began(self, sample: Sample) -> None:
        """Show a run that has begun."""
        cell = sample.cell
        name = f"{cell.model} {cell.strategy} {cell.scenario} #{sample.trial}"
        self._running[sample.key] = printable(name), time.monotonic()

    def ended(self, key: str) -> None:
        """Show a run no more, which has ended."""
        self._running.pop(key, None)

    def show(self, done: int) -> None:
        """Show how many runs have ended."""
        self.update(self._total, completed=done)

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar, then the words, then a line for each run under way."""
        yield self.make_tasks_table(self.tasks)
        yield from Text(self._status()).wrap(self._out, self._out.width)
        running, now = [*self._running.values()], time.monotonic()  # a copy, as other threads add to it
        for name, since in running[:_SHOWN]:
            end = f" {duration(round((now - since) * 1000 // 100 * 100))}"
            line = Text(f"  {name}", style="dim")
            line.truncate(max(1, self._out.width - len(end)), overflow="ellipsis")
            yield line + Text(end, style="cyan")
        if len(running) > _SHOWN:
            yield Text(f"  and {counted(len(running) - _SHOWN, 'more run')}", style="dim")
