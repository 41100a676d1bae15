"""Progress of a live run on stderr."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.live import Live

from toolreel._cli.output.console import err, printable, running_scrub
from toolreel._cli.output.run_figures import RunFigures
from toolreel._cli.output.run_screen import RunScreen
from toolreel.tools.mcp._server_events import CallProgressed, McpNews, describe
from toolreel_core._protocol import notes
from toolreel_core._replies.streaming.stream import Delta


class RunProgress:
    """An observer that shows what a run does and has done on a terminal, or a line per step in a pipe.

    On a terminal, a streamed reply replaces what is shown; in a pipe it is printed with the result only.
    """

    def __init__(self) -> None:
        self.figures = RunFigures()
        """What the run has done and spent; to be told of its events."""
        self._screen = RunScreen(self.figures)
        self._live: Live | None = None
        self._streaming = ""
        """The kind of delta that is being streamed now; empty if none is."""
        self._scrub = running_scrub()
        """A secret may be split over deltas."""
        if err.is_terminal and not err.is_dumb_terminal:
            self._live = Live(self._screen, console=err, transient=True, refresh_per_second=10)

    def __call__(self, note: notes.Note, /) -> None:
        """Show the step that a note reports, if it is one to wait for."""
        text = self._screen.calls_running(note) if self._live else ""
        if text := text or _words(note):
            self._show(printable(text))

    def show_delta(self, delta: Delta, /) -> None:
        """Print a chunk of a streamed reply."""
        if self._live is None or delta.kind == "tool_call":
            return
        self._live.stop()
        if delta.kind != self._streaming:
            self._end_stream()
            self._streaming, self._scrub = delta.kind, running_scrub()
        self._print_streamed(self._scrub.feed(delta.text))

    def show_mcp_event(self, news: McpNews, /) -> None:
        """Show an event of an MCP server."""
        if isinstance(news, CallProgressed):
            if self._live:
                self._show(printable(describe(news)))
        elif text := describe(news):
            err.print(printable(text), style="yellow")

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end_stream()
        if self._live:
            self._live.stop()

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Stop drawing while other code uses the terminal."""
        self._end_stream()
        if self._live:
            self._live.stop()
        try:
            yield
        finally:
            if self._live:
                self._live.start()

    def _show(self, text: str) -> None:
        if self._live is None:
            err.print(text)
            return
        self._end_stream()
        self._screen.show(text)
        self._live.start()

    def _print_streamed(self, text: str) -> None:
        style = "dim" if self._streaming == "reasoning" else ""
        err.print(text, end="", style=style, soft_wrap=True)  # wrapping would drop blanks between two pieces

    def _end_stream(self) -> None:
        """End the line of streamed text."""
        if self._streaming:
            self._print_streamed(self._scrub.close())
            err.print()
        self._streaming = ""


def _words(note: notes.Note) -> str:
    match note:
        case notes.RequestSent():
            again = f" (try {note.attempt})" if note.attempt > 1 else ""
            return f"turn {note.turn}: waiting for the model{again}"
        case notes.SummaryRequested():
            again = f" (try {note.attempt})" if note.attempt > 1 else ""
            return f"turn {note.turn}: the window is full, waiting for a summary{again}"
        case notes.RetryPlanned():
            return f"turn {note.turn}: no reply, trying again in {note.ms / 1000:.1f} s"
        case notes.CallStarted():
            return f"turn {note.turn}: running {note.name}"
        case notes.CallEnded() if not note.ok:
            return f"turn {note.turn}: {note.name} failed: {', '.join(note.codes)}"
        case notes.CallRejected():
            return f"turn {note.turn}: {note.name} not run: {note.code}"
        case notes.CallSkipped():
            return f"turn {note.turn}: {note.name} not run: it has succeeded before"
        case _:
            return ""
