"""The journals that are still to be made: by one process while requests are served, by several at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeAlias

from toolreel.proxy._journals import JournalJob, JournalProcess
from toolreel_core._jsontext import Json

Tell: TypeAlias = Callable[[Mapping[str, Json]], None]
"""Takes one entry of the log."""

_FEW: Final = 20
"""Journals that are made sooner than a process has started."""
_PROCESSES: Final = 4
"""Processes at most, however many cores there are."""
_EVERY: Final = 2.0
"""Seconds between two entries of the log that say how far it is."""
_LOOK: Final = 0.05
"""Seconds between two looks whether it is done, or is to be left."""


class JournalQueue:
    """Makes journals in the order in which conversations end."""

    def __init__(self, tell: Tell) -> None:
        self._tell: Final = tell
        self._jobs: Final[SimpleQueue[JournalJob | None]] = SimpleQueue()
        self._processes: Final[list[JournalProcess]] = []
        self._threads: Final[list[Thread]] = []
        self._closing = False
        self._hurried = False
        self._left: Final[list[str]] = []
        """The conversations that went without, since there was no time."""

    def add(self, job: JournalJob) -> None:
        """Make the journals of a conversation soon; at the end, together with the others."""
        self._jobs.put(job)
        if not self._closing and not self._threads:
            self._start()

    def begin_close(self) -> None:
        """Say that what is added now waits for :meth:`close`."""
        self._closing = True

    def hurry(self) -> None:
        """Leave out the journals that are not made yet. It takes no lock: handlers of signals call it."""
        self._hurried = True

    def close(self) -> None:
        """Make what is left, and say now and then how far it is; then nothing more may come."""
        total = self._jobs.qsize()
        if total <= _FEW and not self._threads:
            while not self._jobs.empty():
                self._perform(self._jobs.get(), None)
        else:
            wanted = min(os.cpu_count() or 1, _PROCESSES, 1 + total // _FEW)
            while len(self._threads) < wanted:
                self._start()
            for _ in self._threads:
                self._jobs.put(None)
            self._wait(total)
        if self._left:
            why = "stopped before; the cassettes are whole, toolreel cassettes journal makes journals"
            self._tell({"is": "without a journal", "conversations": len(self._left), "why": why})

    def _start(self) -> None:
        process = JournalProcess(stands_back=not self._closing)
        # A daemon: where nobody closes the queue, the cassettes are all that has to be there.
        thread = Thread(target=self._work, args=(process,), name="toolreel-journals", daemon=True)
        self._processes.append(process)
        self._threads.append(thread)
        thread.start()

    def _work(self, process: JournalProcess) -> None:
        with process:
            while (job := self._jobs.get()) is not None:
                self._perform(job, process)

    def _wait(self, total: int) -> None:
        told_at = time.monotonic()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_LOOK)
                if self._hurried:
                    for process in self._processes:
                        process.kill()
                elif total > _FEW and time.monotonic() - told_at > _EVERY:
                    told_at = time.monotonic()
                    left = max(0, self._jobs.qsize() - sum(each.is_alive() for each in self._threads))
                    self._tell({"is": "making journals", "done": total - left, "of": total})

    def _perform(self, job: JournalJob | None, process: JournalProcess | None) -> None:
        if job is None:
            return
        why = None if self._hurried or process is None else process.perform(job)
        if why is None and self._hurried:
            self._left.append(job.name)
            return
        # What the process could not do is tried here: a program's own transforms are registered here alone.
        why = job.perform() if why is None else why
        if why:
            self._tell({"conversation": job.name, "is": "without a journal", "why": why})
