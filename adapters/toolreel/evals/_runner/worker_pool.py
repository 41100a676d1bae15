"""A pool of threads that run jobs, taken one by one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class JobEnded(Generic[_Result]):
    """A job that has ended, with what came of it or with what went wrong in this program."""

    result: _Result | None = None
    error: BaseException | None = None


class WorkerPool(Generic[_Job, _Result]):
    """Runs jobs in a few threads.

    Jobs are taken one by one when a thread is free, so that a long plan is never in memory as a whole.

    :param run: called in a thread, with one job at a time
    :param stop: once it is set, no further job is begun; those under way still end
    """

    def __init__(
        self, jobs: Iterator[_Job], threads: int, run: Callable[[_Job], _Result], stop: threading.Event
    ) -> None:
        self._jobs = jobs
        self._run = run
        self._lock = threading.Lock()
        self._ended: queue.SimpleQueue[JobEnded[_Result] | None] = queue.SimpleQueue()
        self._working = threads
        self._stop = stop
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()

    def next_ended(self) -> Sequence[JobEnded[_Result]]:
        """Wait for the next job that ends; returns all that have by then, and none when there are no more."""
        found = list[JobEnded[_Result]]()
        while self._working and not (found and self._ended.empty()):
            ended = self._ended.get()
            if ended is None:
                self._working -= 1
            else:
                found.append(ended)
        return found

    def _work(self) -> None:
        try:
            while (job := self._next()) is not None:
                self._ended.put(JobEnded(self._run(job)))
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits, which raises it
            self._ended.put(JobEnded(error=error))
        finally:
            self._ended.put(None)

    def _next(self) -> _Job | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._jobs, None)
