"""Ctrl-C in a command that makes many runs: what is under way still ends, and what has ended is kept."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from toolreel._cli.evals.progress import EvaluationProgress
from toolreel._cli.output.console import err


@contextmanager
def stoppable(stop: Event, progress: EvaluationProgress) -> Generator[None]:
    """Ctrl-C lets what is under way end; a second one gives it up."""

    def interrupted(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        progress.stopping()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    except KeyboardInterrupt:
        err.print("Given up; every run that had ended is kept.")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, before)
