"""The lines that a terminal shows of a run while it runs: what is done, what is running, the figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from rich.console import Console, ConsoleOptions, RenderResult
from rich.spinner import Spinner
from rich.text import Text

from toolreel._cli.output.console import printable
from toolreel._cli.output.run_figures import RunFigures
from toolreel_core._protocol import notes


class RunScreen:
    """Redraws itself at each refresh; empty before the first step.

    :param figures: what the run has done and spent
    """

    def __init__(self, figures: RunFigures, now: Callable[[], float] = time.monotonic) -> None:
        self._figures, self._now = figures, now
        self._spinner = Spinner("dots")
        self._step, self._since = "", now()
        self._running: dict[str, str] = {}
        """Names of the calls that are running, by id: several may be at once."""

    def show(self, step: str) -> None:
        """Show another step as the present one, which begins now."""
        self._step, self._since = step, self._now()

    def calls_running(self, note: notes.Note) -> str:
        """Which calls are running since a note that begins or ends one; empty for others."""
        match note:
            case notes.CallStarted():
                self._running[note.call_id] = note.name
            case notes.CallEnded() if note.call_id in self._running:
                del self._running[note.call_id]
            case _:
                return ""
        return f"turn {note.turn}: running {', '.join(self._running.values())}" if self._running else ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines that fit the width, each cut at its end but the figures, which are wrapped."""
        if not self._step:
            return
        for line in self._figures.done:
            yield _cut(Text(f"  {printable(line)}", style="dim"), options.max_width)
        elapsed = timedelta(seconds=int(self._now() - self._since))
        spinner = self._spinner.render(self._now())
        mark = spinner.plain if isinstance(spinner, Text) else ""
        end = f" {elapsed}"
        yield _cut(Text(f"{mark} {self._step}"), options.max_width - len(end)) + Text(end, style="cyan")
        for part in Text(printable(self._figures.text), style="bold").wrap(console, options.max_width - 2):
            yield Text("  ") + part


def _cut(text: Text, width: int) -> Text:
    text.truncate(max(1, width), overflow="ellipsis")
    return text
