"""What is going on in a live run, on stderr, while the model takes its time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from toolreel.notes import CallEnded, CallRejected, CallStarted, Note, RequestSent, RetryPlanned
from toolreel_adapters.cli.console import err, printable

__all__ = ["Watching"]


class Watching:
    """An observer: a spinner with the time on a terminal, a line for each step in a pipe."""

    def __init__(self) -> None:
        self._spinner: Progress | None = None
        if err.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._spinner = Progress(*columns, console=err, transient=True)

    def __call__(self, note: Note, /) -> None:
        """Show what the note says, if it says what is being waited for."""
        if text := _words(note):
            self._show(printable(text))

    def __enter__(self) -> Self:
        if self._spinner:
            self._spinner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._spinner:
            self._spinner.stop()

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Leave the terminal to somebody else for a while."""
        if self._spinner:
            self._spinner.stop()
        try:
            yield
        finally:
            if self._spinner:
                self._spinner.start()

    def _show(self, text: str) -> None:
        if self._spinner is None:
            err.print(text)
            return
        for task in self._spinner.task_ids:
            self._spinner.remove_task(task)
        self._spinner.add_task(text, total=None)


def _words(note: Note) -> str:
    match note:
        case RequestSent():
            again = f" (try {note.attempt})" if note.attempt > 1 else ""
            return f"turn {note.turn}: waiting for the model{again}"
        case RetryPlanned():
            return f"turn {note.turn}: no reply, trying again in {note.ms / 1000:.1f} s"
        case CallStarted():
            return f"turn {note.turn}: running {note.name}"
        case CallEnded() if not note.ok:
            return f"turn {note.turn}: {note.name} failed: {', '.join(note.codes)}"
        case CallRejected():
            return f"turn {note.turn}: {note.name} not run: {note.code}"
        case _:
            return ""
