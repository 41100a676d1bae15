"""Tasks: pieces of work that any worker of a queue does, once each, and whose result is stored.

Unlike a run, a task is repeated as a whole if its worker dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from dbos import DBOS

from toolreel.durable._host import TASK, Host
from toolreel.durable._store.store import Store

_BATCH: Final = 500


class Done(NamedTuple):
    """A task that is done."""

    name: str
    result: str
    """Empty if it failed."""
    problem: str = ""


class Tasks:
    """The tasks of one queue.

    :param queue: its name; tasks of equal names in one queue are the same task
    """

    def __init__(self, url: sa.URL, queue: str) -> None:
        self._store = Store(url)
        self._queue = queue
        self._open: list[str] = []

    def put(self, name: str, about: str) -> None:
        """Queue a task; one that was queued before, if by another process, is not queued again."""
        workflow_id = f"{self._queue}~{name}"

        def enqueue(connection: sa.Connection) -> None:
            self._store.client.enqueue_in_transaction(
                connection,
                {"workflow_name": TASK, "queue_name": self._queue, "workflow_id": workflow_id},
                about,
            )

        self._store.change(enqueue)
        self._open.append(workflow_id)

    def done(self, poll_seconds: float) -> Iterator[Done]:
        """The tasks that were put, as they are done, until none is left."""
        while self._open:
            found = [*self._finished()]
            yield from found
            if not found:
                time.sleep(poll_seconds)

    def drop(self) -> None:
        """Take the tasks back that nobody has begun."""
        for start in range(0, len(self._open), _BATCH):
            ids = self._open[start : start + _BATCH]
            for each in self._store.workflows(ids, ("ENQUEUED",)):
                self._store.client.delete_workflow(each.workflow_id)
                self._open.remove(each.workflow_id)

    def close(self) -> None:
        """Close the connections."""
        self._store.close()

    def _finished(self) -> Iterator[Done]:
        for start in range(0, len(self._open), _BATCH):
            ids = self._open[start : start + _BATCH]
            for each in self._store.workflows(ids, ("SUCCESS", "ERROR")):
                self._open.remove(each.workflow_id)
                name = each.workflow_id.removeprefix(f"{self._queue}~")
                yield Done(name, str(each.output or ""), str(each.error or ""))


class TaskWorker:
    """Does the tasks of a queue in this process, until it is closed.

    :param work: does one task, and returns its result; called from several threads
    """

    def __init__(
        self, url: sa.URL, queue: str, work: Callable[[str], str], concurrency: int, poll_seconds: float
    ) -> None:
        def perform(about: str, _: str) -> str:
            result: str = DBOS.run_step({"name": "task"}, lambda: work(about))
            return result

        self._host = Host(url, queue, None, concurrency, poll_seconds)
        try:
            self._host.start(TASK, perform)
        except BaseException:
            self.close(0)
            raise

    @property
    def busy_with(self) -> Sequence[str]:
        """The tasks that are under way."""
        return self._host.busy_with

    def close(self, seconds: float = 600.0) -> bool:
        """End, after the tasks that are under way; returns whether they have ended."""
        return self._host.stop(seconds)
